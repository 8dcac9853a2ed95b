"""A distribution given at percentiles behaves like one."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.planners.distribution import percentiles
from analytics.planners.units import lendable_unit_hours, units_with_spare

UNIFORM = percentiles((("0", 0.0), ("100", 10.0)))


def test_a_uniform_distribution_has_its_mean_and_quantiles() -> None:
    assert UNIFORM.mean() == pytest.approx(5.0)
    assert float(UNIFORM.quantile(0.3)) == pytest.approx(3.0)
    assert float(UNIFORM.share_below(3.0)) == pytest.approx(0.3)


@pytest.mark.parametrize("count", [1, 2, 10, 1000])
def test_the_largest_of_several_agrees_with_theory(count: int) -> None:
    assert UNIFORM.largest_of(count) == pytest.approx(10 * count / (count + 1), rel=2e-3)


def test_values_out_of_order_are_put_in_order() -> None:
    found = percentiles((("50", 9.0), ("90", 3.0)))
    assert found.values == (9.0, 9.0)


def test_keys_that_are_no_percentile_are_left_out() -> None:
    assert percentiles((("median", 4.0), ("p50", 5.0), ("300", 1.0))).values == (5.0,)
    assert percentiles((("median", 4.0),)).values == (4.0,)


def test_share_below_runs_from_zero_to_one() -> None:
    shares = UNIFORM.share_below(np.array([-1.0, 11.0]))
    assert shares.tolist() == [0.0, 1.0]


def test_spare_units_are_enough_without_the_lost_one() -> None:
    units = units_with_spare(300, 100, 0.0, 1)
    assert (units - 1) * 100 >= 300


def test_a_flat_day_lends_nothing_and_a_quiet_night_does() -> None:
    assert lendable_unit_hours(500, 100, 0.2, 1, [1.0] * 24) == 0
    assert lendable_unit_hours(500, 100, 0.2, 1, [0.1] * 12 + [1.0] * 12) > 24

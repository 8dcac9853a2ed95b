"""Intervals hold the truth about as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.planners.form import Estimate
from analytics.planners.observed.intervals import (
    exactly,
    largest_rate,
    largest_share,
    line,
    mean_of,
    poisson_rate,
    ratio_of_sums,
    share_of,
    t_quantile,
)

RNG = np.random.default_rng(8)


def _held(estimates: list[Estimate | None], truth: float) -> float:
    inside = [each is not None and each.low is not None and each.low <= truth <= (each.high or 0) for each in estimates]
    return float(np.mean(inside))


@pytest.mark.parametrize(("freedom", "quantile"), [(7, 3.499), (19, 2.861), (99, 2.626)])
def test_student_quantiles_agree_with_tables(freedom: int, quantile: float) -> None:
    assert t_quantile(0.995, freedom) == pytest.approx(quantile, rel=5e-3)


def test_a_ratio_of_sums_holds_the_truth_with_uneven_blocks() -> None:
    found = []
    for _ in range(300):
        bottom = RNG.gamma(2.0, 50.0, 60)
        found.append(ratio_of_sums(3.0 * bottom * RNG.gamma(5.0, 0.2, 60), bottom, ""))
    assert _held(found, 3.0) > 0.96


def test_a_ratio_needs_enough_blocks() -> None:
    assert ratio_of_sums(np.ones(5), np.ones(5), "") is None
    assert ratio_of_sums(np.full(50, np.nan), np.ones(50), "") is None


def test_a_mean_holds_the_truth() -> None:
    assert _held([mean_of(RNG.gamma(4.0, 1.0, 40), "") for _ in range(300)], 4.0) > 0.96


def test_a_share_holds_the_truth_even_when_rare() -> None:
    assert _held([share_of(float(RNG.binomial(400, 0.02)), 400, "") for _ in range(400)], 0.02) > 0.96


def test_a_poisson_rate_holds_the_truth() -> None:
    assert _held([poisson_rate(float(RNG.poisson(12)), 4.0, "") for _ in range(400)], 3.0) > 0.96


def test_the_highest_rate_is_held_though_the_highest_count_is_lucky() -> None:
    found = [largest_rate(RNG.poisson(100, 40).astype(float), 1.0, "") for _ in range(300)]
    assert _held(found, 100.0) > 0.97
    assert np.mean([each.value for each in found if each]) > 110


def test_the_largest_share_is_over_the_even_share() -> None:
    found = largest_share(np.array([500.0, 300.0, 200.0]), "")
    assert found is not None
    assert found.value == pytest.approx(1.5)


def test_a_line_is_found_again() -> None:
    both = []
    for _ in range(200):
        x = RNG.uniform(50, 400, 80)
        both.append(line(x, (0.02 + 4e-5 * x) * RNG.gamma(400, 1 / 400, 80), np.ones(80), ""))
    assert _held([pair[0] if pair else None for pair in both], 0.02) > 0.95
    assert _held([pair[1] if pair else None for pair in both], 4e-5) > 0.95


def test_a_line_needs_tokens_that_vary() -> None:
    assert line(np.full(50, 3.0), np.ones(50), np.ones(50), "") is None


def test_a_fact_has_no_width() -> None:
    found = exactly(8, "configuration")
    assert found.low == found.value == found.high

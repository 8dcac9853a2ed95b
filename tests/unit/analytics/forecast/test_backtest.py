"""Rolling origins: measured against what came, never seeing it."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.forecast import backtest, get, rolling_origins
from tests.unit.analytics.forecast.support import DAY, STEP, wave


def test_origins_leave_room_to_learn_and_to_compare_and_take_all_times_of_day() -> None:
    origins = rolling_origins(12 * DAY, DAY, 10, learn_days=7)
    assert origins[0] == 7 * DAY
    assert origins[-1] <= 11 * DAY
    assert len({origin % DAY for origin in origins}) > 3
    assert rolling_origins(5 * DAY, DAY, 10, learn_days=7) == ()


def test_naive_day_is_as_good_as_naive_day() -> None:
    times, values = wave(10)
    found = backtest(times, values, lambda: get("naive_day", STEP), (8 * DAY, 9 * DAY), step_seconds=STEP)
    assert found.relative_mae("1-24h") == pytest.approx(1.0)
    assert found.mase("1-24h") == pytest.approx(1.0, rel=0.3)


def test_what_comes_after_an_origin_does_not_change_its_forecast() -> None:
    times, values = wave(10)
    changed = values.copy()
    changed[9 * DAY :] = 1e6
    said = [
        backtest(times, given, lambda: get("blend", STEP), (9 * DAY,), step_seconds=STEP).said
        for given in (values, changed)
    ]
    assert np.array_equal(said[0], said[1])


def test_missing_truth_is_not_counted() -> None:
    times, values = wave(10)
    values[9 * DAY + 5 : 9 * DAY + 20] = np.nan
    found = backtest(times, values, lambda: get("naive_day", STEP), (9 * DAY,), step_seconds=STEP)
    assert np.isnan(found.actual).sum() == 15
    assert np.isfinite(found.relative_mae("1-24h"))
    assert 0 <= found.coverage("1-24h")[0.9] <= 1

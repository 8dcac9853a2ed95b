"""The regular grid: gaps, order, local time."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.forecast.history import MAX_DAYS, regular
from signals.errors import ConfigError


def test_absent_and_impossible_values_are_missing() -> None:
    times = np.array(["2026-03-02T00:00", "2026-03-02T00:10", "2026-03-02T00:40"], dtype="datetime64[us]")
    history = regular(times, np.array([1.0, -5.0, 3.0]), 600)
    assert np.array_equal(history.values, [1.0, np.nan, np.nan, np.nan, 3.0], equal_nan=True)


def test_values_in_one_step_are_averaged() -> None:
    times = np.array(["2026-03-02T00:00", "2026-03-02T00:05"], dtype="datetime64[us]")
    assert regular(times, np.array([1.0, 3.0]), 600).values.tolist() == [2.0]


def test_only_the_newest_days_are_kept() -> None:
    times = np.array(["2020-01-01", "2026-03-02"], dtype="datetime64[us]")
    assert len(regular(times, np.array([1.0, 1.0]), 3600)) == MAX_DAYS * 24


def test_the_same_local_time_yesterday_is_23_hours_ago_when_clocks_go_forward() -> None:
    times = np.arange("2026-03-27T00:00", "2026-03-31T00:00", 3600, dtype="datetime64[s]")
    history = regular(times, np.ones(len(times)), 3600, "Europe/Berlin")
    sunday_noon_utc = int((np.datetime64("2026-03-29T12:00") - history.start) / np.timedelta64(1, "h"))
    assert sunday_noon_utc - int(history.days_before(np.array([sunday_noon_utc]), 1)[0]) == 23
    assert sunday_noon_utc - int(history.days_before(np.array([sunday_noon_utc - 24]), 0)[0]) == 24


@pytest.mark.parametrize("step", [0, -600, 7, 100_000])
def test_a_step_must_divide_a_day(step: int) -> None:
    with pytest.raises(ConfigError, match="divide a day"):
        regular(np.empty(0, dtype="datetime64[s]"), np.empty(0), step)


def test_an_unknown_timezone_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown timezone"):
        regular(np.empty(0, dtype="datetime64[s]"), np.empty(0), 600, "Mars/Olympus")

"""Declared days change the forecast, and what was unusual in the past teaches nothing."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from analytics.forecast import Event, default
from analytics.forecast.events import local_days, without_events
from analytics.forecast.history import regular
from signals.errors import ConfigError
from tests.unit.analytics.forecast.support import DAY, STEP, wave


def weeks(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whole weeks from a Monday on, Sundays at half."""
    times, values = wave(7 * count, noise=0.1)
    sunday = np.arange(len(values)) // DAY % 7 == 6
    return times, np.where(sunday, values / 2, values)


def test_a_holiday_declared_like_sunday_is_forecast_like_sunday() -> None:
    times, values = weeks(4)
    monday = date(2026, 3, 30)
    plain = default(STEP).fit(times, values).predict(DAY, (0.5,)).mean()
    holiday = default(STEP, events=(Event(monday, like="sunday"),)).fit(times, values).predict(DAY, (0.5,)).mean()
    assert holiday == pytest.approx(plain / 2, rel=0.15)


def test_a_launch_multiplies_its_day_only() -> None:
    times, values = weeks(2)
    events = (Event(date(2026, 3, 17), factor=1.5, name="launch"),)
    plain = default(STEP).fit(times, values).predict(2 * DAY, (0.5,))
    launch = default(STEP, events=events).fit(times, values).predict(2 * DAY, (0.5,))
    assert launch[:DAY] == pytest.approx(plain[:DAY])
    assert launch[DAY:] == pytest.approx(1.5 * plain[DAY:])


def test_an_unusual_day_teaches_nothing() -> None:
    history = regular(*wave(3), STEP)
    cleaned = without_events(history, (Event(date(2026, 3, 3), like="unusual"),))
    assert np.isnan(cleaned.values[DAY : 2 * DAY]).all()
    assert np.isfinite(cleaned.values[:DAY]).all()


def test_a_past_launch_is_divided_out() -> None:
    history = regular(*wave(3), STEP)
    cleaned = without_events(history, (Event(date(2026, 3, 3), factor=2.0),))
    assert cleaned.values[DAY : 2 * DAY] == pytest.approx(history.values[DAY : 2 * DAY] / 2)


def test_days_are_local() -> None:
    times, values = wave(2)
    berlin = regular(times, values, STEP, "Europe/Berlin")
    numbers = local_days(berlin, np.arange(len(berlin), dtype=np.int64))
    assert np.flatnonzero(np.diff(numbers))[0] + 1 == DAY - 2  # midnight in Berlin is 23:00 UTC in March


def test_a_wrong_event_is_refused_with_its_key() -> None:
    with pytest.raises(ConfigError, match="like"):
        Event(date(2026, 3, 3), like="holiday")
    with pytest.raises(ConfigError, match="factor"):
        Event(date(2026, 3, 3), factor=0)

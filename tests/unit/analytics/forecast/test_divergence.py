"""Bands are wide where like days went apart, and narrow where they did not."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.forecast.calibration import calibration
from analytics.forecast.divergence import divergence
from analytics.forecast.history import History, regular
from tests.unit.analytics.forecast.support import DAY, START, STEP

HOUR = DAY // 24


def with_bursts(days: int) -> History:
    """Return even days, every other of which bursts from three to six in the afternoon, cut at noon."""
    values = np.full((days, DAY), 10.0)
    values[::2, 15 * HOUR : 18 * HOUR] = 30.0
    demand = values.ravel()[: days * DAY - DAY // 2]
    return regular(START + np.arange(len(demand)) * np.timedelta64(STEP, "s"), demand, STEP)


def test_hours_in_which_like_days_burst_have_the_wider_band() -> None:
    history = with_bursts(12)
    judged = calibration(history)
    found = divergence(np.full(judged.actual.shape, 10.0), judged, history)
    grown = found.ahead(np.full(DAY // 2, 10.0), history)
    assert grown[3 * HOUR : 6 * HOUR].min() > 1.2
    assert grown[: 2 * HOUR].max() < 0.8


def test_nothing_to_compare_with_leaves_the_band_as_it_is() -> None:
    history = with_bursts(1)
    judged = calibration(history)
    found = divergence(np.full(judged.actual.shape, 10.0), judged, history)
    assert found.past == pytest.approx(1.0)
    assert found.ahead(np.full(DAY, 10.0), history) == pytest.approx(1.0)


def test_a_band_once_said_does_not_change_with_what_came_later() -> None:
    history = with_bursts(12)
    judged = calibration(history)
    changed = history.values.copy()
    changed[-DAY:] = 99.0
    later = divergence(np.full(judged.actual.shape, 10.0), judged, history.with_values(changed))
    known = judged.origins <= len(history) - DAY
    before = divergence(np.full(judged.actual.shape, 10.0), judged, history)
    # The unit of rises is the mean of the newest fortnight, which cancels out.
    assert later.past[known] == pytest.approx(before.past[known])

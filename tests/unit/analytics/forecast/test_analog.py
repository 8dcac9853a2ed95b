"""Days that began like today tell how today goes on."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.forecast.analog import ANALOG_6H, ANALOG_ASTRAY
from analytics.forecast.history import FloatArray, History, regular
from tests.unit.analytics.forecast.support import DAY, STEP

LEADS = np.arange(1, DAY // 4 + 1, dtype=np.int64)
NOON = DAY // 2


def of_kinds(kinds: str, hours: int) -> History:
    """Return days of two kinds, busy (b) from six o'clock on or quiet (q), the last one cut after `hours`."""
    clock = np.arange(DAY) * 24 / DAY
    shapes = {"b": np.where(clock >= 6, 20.0, 2.0), "q": np.full(DAY, 2.0)}
    values = np.concatenate([shapes[kind] for kind in kinds])[: (len(kinds) - 1) * DAY + hours * DAY // 24]
    times = np.datetime64("2026-03-02T00:00", "s") + np.arange(len(values)) * np.timedelta64(STEP, "s")
    return regular(times, values, STEP)


def ahead(history: History) -> FloatArray:
    path: FloatArray = ANALOG_6H.paths(history, np.array([len(history)]), LEADS)[0]
    return path


def test_a_day_that_began_busy_goes_on_as_busy_days_did() -> None:
    assert ahead(of_kinds("bqqbqbqqb", 12)) == pytest.approx(20.0)


def test_a_day_that_began_quiet_goes_on_as_quiet_days_did() -> None:
    assert ahead(of_kinds("bqqbqbqbq", 12)) == pytest.approx(2.0)


def test_a_time_two_hours_astray_is_found_by_those_that_look_beside() -> None:
    early, late = of_kinds("qqqbqq", 24), of_kinds("b", 24)
    hours_late = np.roll(late.values, DAY // 12)[: DAY // 2]
    values = np.concatenate([early.values, hours_late])
    times = early.start + np.arange(len(values)) * np.timedelta64(STEP, "s")
    history = regular(times, values, STEP)
    found = ANALOG_ASTRAY.paths(history, np.array([len(history)]), LEADS)[0]
    assert found[0] == pytest.approx(20.0)


def test_no_path_knows_what_came_after_its_origin() -> None:
    history = of_kinds("bqqbqbqqb", 24)
    changed = history.values.copy()
    origin = 6 * DAY + NOON
    changed[origin:] = 99.0
    origins = np.array([origin])
    for member in (ANALOG_6H, ANALOG_ASTRAY):
        before = member.paths(history, origins, LEADS)
        assert np.array_equal(before, member.paths(history.with_values(changed), origins, LEADS))


def test_less_than_a_day_knows_nothing() -> None:
    assert np.isnan(ahead(of_kinds("b", 12))).all()


def test_a_gap_in_the_newest_hours_is_not_compared() -> None:
    history = of_kinds("bqqbqbqqb", 12)
    values = history.values.copy()
    values[-DAY // 24 :] = np.nan
    assert ahead(history.with_values(values)) == pytest.approx(20.0)

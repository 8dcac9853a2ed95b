"""A level that moved and stayed is followed; a spike, an outage and an ordinary day are not."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.forecast import default
from analytics.forecast.history import regular
from analytics.forecast.level_shift import shift_in_force, without_shift
from tests.unit.analytics.forecast.support import wave

STEP = 600


def moved(hours: float, factor: float, until_hours: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    times, values = wave(9.3, step=STEP)
    end = len(values) - round(until_hours * 6)
    values[end - round(hours * 6) : end] *= factor
    return times, values


@pytest.mark.parametrize("hours", [0.5, 1, 2, 8, 20])
def test_a_doubling_is_noticed_from_half_an_hour_on(hours: float) -> None:
    shift = shift_in_force(regular(*moved(hours, 2.0), STEP))
    assert shift is not None
    assert shift.factor == pytest.approx(2.0, rel=0.15)
    assert abs(9.3 * 144 - hours * 6 - shift.start) <= 2


def test_a_fall_is_believed_after_six_hours_only() -> None:
    assert shift_in_force(regular(*moved(2, 0.4), STEP)) is None
    shift = shift_in_force(regular(*moved(7, 0.4), STEP))
    assert shift is not None
    assert shift.factor < 0.55


def test_ordinary_days_have_no_shift() -> None:
    for end in range(7 * 144, 9 * 144, 31):
        times, values = wave(9.3, step=STEP)
        assert shift_in_force(regular(times[:end], values[:end], STEP)) is None


def test_a_spike_that_ended_is_no_shift() -> None:
    assert shift_in_force(regular(*moved(2, 3.0, until_hours=4), STEP)) is None


def test_a_restless_series_has_no_level_to_shift() -> None:
    times, values = moved(2, 2.0)
    bursts = np.repeat(np.random.default_rng(3).lognormal(0, 1.0, len(values) // 12 + 1), 12)[: len(values)]
    assert shift_in_force(regular(times, values * bursts, STEP)) is None


def test_the_past_is_moved_to_the_new_level() -> None:
    history, shift = without_shift(regular(*moved(3, 2.0), STEP))
    assert shift is not None
    plain = wave(9.3, step=STEP)[1]
    assert history.values[: shift.start].mean() == pytest.approx(2 * plain[: shift.start].mean(), rel=0.15)


def test_the_forecast_after_a_doubling_is_about_double() -> None:
    plain = default(STEP).fit(*wave(9.3, step=STEP)).predict(144, (0.5,))
    forecaster = default(STEP).fit(*moved(2, 2.0))
    assert forecaster.predict(144, (0.5,)).mean() == pytest.approx(2 * plain.mean(), rel=0.15)
    assert "level moved" in forecaster.basis


def test_an_older_shift_behind_the_newest_one_is_undone_too() -> None:
    times, values = moved(26, 2.0)
    values[-2 * 6 :] *= 2
    history, shift = without_shift(regular(times, values, STEP))
    assert shift is not None
    assert len(values) - shift.start == pytest.approx(12, abs=2)
    plain = wave(9.3, step=STEP)[1]
    assert history.values.mean() == pytest.approx(4 * plain.mean(), rel=0.2)


def test_quiet_hours_do_not_shrink_the_size_of_a_shift() -> None:
    times, values = wave(9.1, step=STEP)  # it ends at night
    values[-12:] *= 2
    shift = shift_in_force(regular(times, values, STEP))
    assert shift is not None
    assert shift.factor == pytest.approx(2.0, rel=0.1)

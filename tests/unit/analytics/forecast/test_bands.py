"""Bands hold what they promise, widen with the lead, and stay within reason."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.forecast import default
from analytics.forecast.bands import CEILING, Bands, Nudge
from tests.unit.analytics.forecast.support import DAY, STEP, wave


def test_nine_of_ten_values_lie_below_the_ninth_decile() -> None:
    step, day = 3_600, 24
    times, values = wave(20, noise=1.0, seed=4, step=step)
    held = []
    for cut in range(15 * day, 19 * day, day // 2):
        high = default(step).fit(times[:cut], values[:cut]).predict(day, (0.9,))[:, 0]
        held.append(values[cut : cut + day] <= high)
    assert 0.82 <= np.mean(held) <= 0.98


def test_asked_quantiles_come_in_the_order_asked() -> None:
    forecaster = default(STEP).fit(*wave(9))
    up, down = forecaster.predict(DAY, (0.1, 0.9)), forecaster.predict(DAY, (0.9, 0.1))
    assert np.array_equal(up, down[:, ::-1])


def test_no_quantile_is_above_the_ceiling() -> None:
    times, values = wave(9)
    values[100] = 60.0
    assert default(STEP).fit(times, values).predict(DAY).max() <= CEILING * 60.0


def test_scores_tell_coverage_and_skill_of_the_past_fortnight() -> None:
    scores = default(STEP).fit(*wave(15, noise=1.0)).scores
    assert scores.origins > 200
    assert scores.skill is not None
    assert scores.skill > 0
    held = scores.coverage["q90"]
    assert held is not None
    assert 0.8 < held < 0.99


def test_the_band_is_wider_after_restless_hours() -> None:
    times, values = wave(12, noise=0.3)
    restless = values.copy()
    restless[-DAY // 2 :] = np.maximum(0.0, values[-DAY // 2 :] + np.random.default_rng(7).normal(0, 3, DAY // 2))
    widths = []
    for demand in (values, restless):
        forecaster = default(STEP).fit(times, demand)
        low, high = forecaster.predict(DAY, (0.1, 0.9)).T
        widths.append((high - low).mean())
    assert widths[1] > 1.3 * widths[0]


def test_a_tail_that_always_held_is_taken_lower_and_never_below_the_next_quantile() -> None:
    bands = Bands(np.array([1]), np.array([[-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 6.0]]))
    lowered = bands.nudged(Nudge(upper=0.0, tail=-0.02))
    assert np.array_equal(lowered.offsets[0, :-1], bands.offsets[0, :-1])
    assert lowered.offsets[0, -1] == pytest.approx(4.0)
    crossed = bands.nudged(Nudge(upper=0.06, tail=-0.03)).offsets[0]
    assert (np.diff(crossed) >= 0).all()

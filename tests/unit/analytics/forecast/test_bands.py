"""Bands hold what they promise, widen with the lead, and stay within reason."""

from __future__ import annotations

import numpy as np

from analytics.forecast import default
from analytics.forecast.bands import CEILING
from tests.unit.analytics.forecast.support import DAY, STEP, wave


def test_nine_of_ten_values_lie_below_the_ninth_decile() -> None:
    times, values = wave(20, noise=1.0, seed=4)
    held = []
    for cut in range(15 * DAY, 19 * DAY, DAY):
        high = default(STEP).fit(times[:cut], values[:cut]).predict(DAY, (0.9,))[:, 0]
        held.append(values[cut : cut + DAY] <= high)
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

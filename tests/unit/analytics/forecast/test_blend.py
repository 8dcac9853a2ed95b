"""The weighted median, and who gets the weight."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.forecast import default
from analytics.forecast.weighted_median import weighted_median
from tests.unit.analytics.forecast.support import DAY, STEP, wave


def test_the_middle_of_the_weight_wins_and_an_outlier_does_not_pull() -> None:
    values = np.array([[1.0, 4.0, 4.0, 1e9]])
    assert weighted_median(values, np.ones((1, 4))) == pytest.approx([4.0])
    assert weighted_median(values, np.array([[9.0, 1.0, 1.0, 1.0]])) == pytest.approx([1.0])


def test_what_a_member_cannot_say_has_no_weight() -> None:
    assert weighted_median(np.array([[np.nan, 2.0]]), np.array([[5.0, 1.0]])) == pytest.approx([2.0])
    assert weighted_median(np.array([[np.nan, 2.0]]), np.array([[5.0, 0.0]])) == pytest.approx([2.0])
    assert np.isnan(weighted_median(np.array([[np.nan, np.nan]]), np.ones((1, 2)))).all()


def test_weights_are_told_by_lead_and_sum_to_one() -> None:
    forecaster = default(STEP).fit(*wave(9))
    for lead in (1, 6, DAY):
        told = forecaster.explain(lead)
        assert sum(told.values()) == pytest.approx(1.0, abs=0.01)
        assert list(told.values()) == sorted(told.values(), reverse=True)


def test_a_daily_wave_is_not_left_to_the_last_value() -> None:
    told = default(STEP).fit(*wave(9)).explain(DAY // 2)
    assert told.get("last_value", 0.0) < 0.02


def test_the_blend_beats_naive_day_on_a_noisy_wave() -> None:
    times, values = wave(12, noise=1.5)
    cut = 10 * DAY
    said = default(STEP).fit(times[:cut], values[:cut]).predict(DAY, (0.5,))[:, 0]
    naive = values[cut - DAY : cut]
    came = values[cut : cut + DAY]
    assert np.abs(said - came).mean() < 0.9 * np.abs(naive - came).mean()

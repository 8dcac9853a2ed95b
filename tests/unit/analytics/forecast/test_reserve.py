"""The burst reserve: steeper pasts and burstier arrivals ask for more."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.forecast import burst_reserve, dispersion_of
from analytics.forecast.history import regular
from tests.unit.analytics.forecast.support import STEP, history, wave


def test_a_longer_cold_start_needs_a_larger_reserve() -> None:
    short, long = (burst_reserve(history(12), seconds) for seconds in (1800, 7200))
    assert 0 < short.ramp < long.ramp


def test_the_ramp_held_in_nearly_all_past_windows() -> None:
    past = history(14, noise=1.0)
    held = burst_reserve(past, 3600, 0.99)
    rises = np.maximum(past.values[1:-1], past.values[2:]) - past.values[:-2]
    assert (rises <= 1.3 * held.total).mean() > 0.97


def test_bursty_arrivals_ask_for_more_than_poisson() -> None:
    calm, bursty = (burst_reserve(history(12), 1800, dispersion=d) for d in (1.0, 50.0))
    assert bursty.burst == pytest.approx(calm.burst * 50**0.5)
    assert bursty.total > calm.total


def test_few_steps_still_give_a_reserve_and_none_give_none() -> None:
    times, values = wave(0.1)
    assert burst_reserve(regular(times, values, STEP), 1800).total > 0
    nothing = regular(times, np.full(len(values), np.nan), STEP)
    assert np.isnan(burst_reserve(nothing, 1800).total)


def test_poisson_counts_have_dispersion_one_and_a_slow_rise_is_no_burst() -> None:
    rng = np.random.default_rng(0)
    rate = np.linspace(1, 20, 200)[:, None] * np.ones(30)
    assert dispersion_of(rng.poisson(rate).astype(float)) == pytest.approx(1.0, abs=0.1)
    assert dispersion_of(np.zeros((5, 10))) == 1.0

"""Made-up demand for the tests of forecasts: a daily wave with seeded noise."""

from __future__ import annotations

import numpy as np

from analytics.forecast.history import FloatArray, History, TimeArray, regular

STEP = 1800
DAY = 86_400 // STEP
START = np.datetime64("2026-03-02T00:00:00", "s")  # a Monday


def wave(days: float, noise: float = 0.3, seed: int = 0, step: int = STEP) -> tuple[TimeArray, FloatArray]:
    """Return (times, values): 10 per second on average, more by day than by night."""
    count = round(days * 86_400 / step)
    times = START + np.arange(count) * np.timedelta64(step, "s")
    clock = np.arange(count) * step * 2 * np.pi / 86_400
    return times, np.maximum(0.0, 10 - 6 * np.cos(clock) + np.random.default_rng(seed).normal(0, noise, count))


def history(days: float, noise: float = 0.3, seed: int = 0, step: int = STEP) -> History:
    """Return the wave as a history."""
    return regular(*wave(days, noise, seed, step), step)

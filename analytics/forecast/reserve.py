"""How much demand may rise while a new instance starts: the burst reserve for a scaler; not the mean path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.history import DAY_SECONDS, FloatArray, History
from analytics.forecast.windows import trailing_mean

#: Days of the past whose ramps count.
WINDOW_DAYS = 14
#: Ramps that must have been seen before they alone say what may come; a Poisson rise is assumed before.
ENOUGH = 200


@dataclass(frozen=True, slots=True)
class Reserve:
    """Demand per second to hold ready on top of the newest level.

    `ramp` is from how the level rose over the horizon, `burst` from the unevenness within a step (index of dispersion
    of counts: 1 is Poisson); `total` joins both as independent.
    """

    ramp: float
    burst: float
    total: float
    horizon_seconds: float
    quantile: float


def burst_reserve(
    history: History,
    horizon_seconds: float,
    quantile: float = 0.99,
    dispersion: float = 1.0,
    window_seconds: float = 60.0,
) -> Reserve:
    """Return the reserve that held in `quantile` of all past windows of `horizon_seconds` (the cold start).

    The ramp is the highest step within the horizon over the level before it, in units of the root of the level, so that
    ramps of busy and quiet hours compare. `dispersion` is the variance over mean of request counts within a step, see
    `dispersion_of`; a queue forgives peaks shorter than `window_seconds`.
    """
    values = history.values[-WINDOW_DAYS * DAY_SECONDS // history.step_seconds :]
    ahead = history.steps(horizon_seconds)
    level = trailing_mean(values, np.arange(1, len(values) + 1, dtype=np.int64), history.steps(1800))
    newest = level[np.isfinite(level)][-1] if np.isfinite(level).any() else float("nan")
    if not np.isfinite(newest):
        return Reserve(float("nan"), float("nan"), float("nan"), horizon_seconds, quantile)
    root = float(np.sqrt(max(newest, 0.05 * float(np.nanmean(values)))))
    steep = _ramps(values, level, ahead)
    # Two and a third sigma is what a normal rise reaches in one of a hundred; a few ramps alone cannot show that.
    assumed = 2.33 * float(np.std(steep)) if len(steep) > 1 else 0.5 * root
    trust = len(steep) / (len(steep) + ENOUGH)
    seen = float(np.quantile(steep, quantile)) if len(steep) else 0.0
    ramp = max(0.0, (trust * seen + (1 - trust) * assumed) * root)
    deviation = float(np.sqrt(max(dispersion, 1.0) * max(newest, 0.0) / window_seconds))
    burst = _normal(quantile) * deviation
    return Reserve(ramp, burst, float(np.hypot(ramp, burst)), horizon_seconds, quantile)


def dispersion_of(counts: FloatArray) -> float:
    """Return variance over mean of the counts of equal short windows within steps: (steps, windows); 1 is Poisson.

    The mean is taken within each step, so a slow rise is no burst.
    """
    mean = counts.mean(axis=1)
    busy = mean > 0
    if counts.shape[1] < 2 or not busy.any():
        return 1.0
    return float(counts[busy].var(axis=1, ddof=1).sum() / mean[busy].sum())


def _ramps(values: FloatArray, level: FloatArray, ahead: int) -> FloatArray:
    """Return (highest step of the next `ahead` - level) / root of the level, of every step with so many after it."""
    if len(values) <= ahead:
        return np.empty(0)
    windows = np.lib.stride_tricks.sliding_window_view(values[1:], ahead)
    highest = windows.max(axis=1)
    before = level[: len(highest)]
    floor = 0.05 * float(np.nanmean(values))
    rise = (highest - before) / np.sqrt(np.maximum(before, floor)) if floor > 0 else np.empty(0)
    known: FloatArray = rise[np.isfinite(rise)]
    return known


def _normal(quantile: float) -> float:
    """Return the standard normal quantile (Abramowitz and Stegun 26.2.23, error below 4.5e-4)."""
    tail = min(quantile, 1 - quantile)
    root = np.sqrt(-2 * np.log(max(tail, 1e-12)))
    top = 2.515517 + 0.802853 * root + 0.010328 * root**2
    bottom = 1 + 1.432788 * root + 0.189269 * root**2 + 0.001308 * root**3
    value = float(root - top / bottom)
    return value if quantile >= 0.5 else -value

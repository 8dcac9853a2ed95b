"""Forecasts demand at the cold start from its own history; knows no engine and no clock but the series' times.

Short horizons are ruled by the level of now: the quantiles are those of growth that this series has shown over the
same lead, scaled to the level of now. A daily or weekly curve (analytics.forecast) is used where history carries one.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, nan, sqrt

import numpy as np
import numpy.typing as npt

from analytics.scaling.state import Demand

Floats = npt.NDArray[np.float64]

#: Growth quantiles need this many pairs; below, Poisson counts and a stated growth stand in.
ENOUGH_PAIRS = 30
#: Growth assumed per 5 minutes before a series has shown its own (30 % as in the seed's example).
ASSUMED_GROWTH_PER_SECOND = 0.30 / 300


def level(values: Floats, step_seconds: float, memory_seconds: float = 120.0) -> float:
    """Return the smoothed rate of now: an exponential mean that forgets with `memory_seconds`, NaN skipped."""
    keep = max(1, ceil(4 * memory_seconds / step_seconds))
    tail = values[-keep:]
    fine = np.isfinite(tail)
    if not fine.any():
        return nan
    age = np.arange(len(tail) - 1, -1, -1) * step_seconds
    weight = np.exp(-age / memory_seconds)[fine]
    return float(np.average(tail[fine], weights=weight))


def demand(values: Floats, step_seconds: float, horizon_seconds: float, stay_seconds: float | None = None) -> Demand:
    """Return demand now and its quantiles at the horizon from one evenly spaced series (req/s, newest last)."""
    now = level(values, step_seconds)
    if not np.isfinite(now):
        return Demand()
    lead = max(1, ceil(horizon_seconds / step_seconds))
    levels = _levels(values, step_seconds)
    start, ahead = levels[:-lead], values[lead:]
    fine = np.isfinite(start) & np.isfinite(ahead) & (start > 0)
    scale = sqrt(max(now, 1e-9))
    if fine.sum() < ENOUGH_PAIRS:
        growth = ASSUMED_GROWTH_PER_SECOND * horizon_seconds
        noise = sqrt(max(now, 0.0) / step_seconds)
        q90 = now * (1 + growth) + 1.28 * noise
        return Demand(now, now, q90, now * (1 + 2 * growth) + 2.33 * noise, q90, nan, "assumed growth of 30 % in 5 min")
    # Residuals scaled by the square root of the level: between additive and multiplicative, the calibrated compromise.
    residual = (ahead[fine] - start[fine]) / np.sqrt(start[fine])
    q50, q90, q99 = (max(0.0, now + scale * float(np.quantile(residual, q))) for q in (0.5, 0.9, 0.99))
    ramp = float(np.quantile(residual, 0.999)) * scale / max(now, 1e-9) / horizon_seconds
    found = Demand(
        now, q50, q90, q99, q90, max(ramp, 0.0) if fine.sum() >= 1000 else nan, "recent level and own growth"
    )
    if stay_seconds:
        stay = max(1, ceil(stay_seconds / step_seconds))
        if len(values) > 2 * stay:
            found = replace(found, stay=max(q90, now + scale * _quantile_ahead(values, levels, stay, 0.5)))
    return found


def with_curve(found: Demand, path: Floats, step_seconds: float, horizon_seconds: float, stay_seconds: float) -> Demand:
    """Merge a forecast path (steps x q50, q90, q99 in req/s, first row one step ahead) into the short-horizon view."""
    lead = min(len(path), max(1, ceil(horizon_seconds / step_seconds)))
    stay = min(len(path), max(lead, ceil(stay_seconds / step_seconds)))
    upto = path[:lead].max(axis=0)
    # The level of now knows the last minutes, the curve knows the day: the higher of both on the way up.
    q50, q90, q99 = (max(a, float(b)) for a, b in zip((found.q50, found.q90, found.q99), upto, strict=True))
    return replace(
        found,
        q50=q50,
        q90=q90,
        q99=q99,
        stay=max(q90, float(path[:stay, 1].max())),
        basis=f"{found.basis}; curve of the day",
    )


def _levels(values: Floats, step_seconds: float, memory_seconds: float = 120.0) -> Floats:
    """Return the running exponential mean at every step (NaN steps keep the level before)."""
    decay = float(np.exp(-step_seconds / memory_seconds))
    out = np.empty(len(values))
    total = weight = 0.0
    for place, value in enumerate(values):
        total *= decay
        weight *= decay
        if value == value:  # NaN differs from itself
            total += value
            weight += 1.0
        out[place] = total / weight if weight > 1e-6 else nan
    return out


def _quantile_ahead(values: Floats, levels: Floats, steps: int, quantile: float) -> float:
    """Return the scaled quantile of the highest value within `steps` over the level before it."""
    windows = np.lib.stride_tricks.sliding_window_view(values[1:], steps)
    with np.errstate(all="ignore"):
        top = np.where(np.isfinite(windows), windows, -np.inf).max(axis=1)
    start = levels[: len(top)]
    fine = np.isfinite(start) & np.isfinite(top) & (start > 0)
    if not fine.any():
        return 0.0
    return float(np.quantile((top[fine] - start[fine]) / np.sqrt(start[fine]), quantile))

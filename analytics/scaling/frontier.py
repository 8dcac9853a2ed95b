"""Learns from served traffic how much one instance serves within the objective; uses tails, never means.

Each window of each instance gives a load and whether its tail met the objective. Below the frontier windows are
good, above it they are not; a queue that never empties shows the engine's ceiling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nan

import numpy as np
import numpy.typing as npt

from analytics.scaling.state import Capacity

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Served within the objectives as a share of the saturated rate, until the frontier itself has been seen: the knee of
#: batched serving lies where the queue starts, 10-20 % below the ceiling.
KNEE_RATIO = 0.85
#: Windows on both sides of the frontier that make it an estimate of its own.
ENOUGH_WINDOWS = 8
#: Instances are warm after this; earlier windows say more about caches and compilation than about capacity.
WARM_UP_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Windows:
    """Instance-windows as arrays of one length; NaN where unknown.

    `rate` is requests per second that got their first token, `good_ratio` the share of them within the objective
    (from requests, else from the queue), `queue_min` the smallest queue seen in the window, `occupancy` the larger of
    running over seats and KV usage, `age_seconds` since the instance became ready.
    """

    rate: Floats
    good_ratio: Floats
    queue_min: Floats
    running: Floats
    occupancy: Floats
    age_seconds: Floats
    #: A queue stood before this window began: its misses tell of the load before, not of its own.
    hangover: npt.NDArray[np.bool_]
    #: Work per request relative to the mix of now (1 = same length); rates are compared after this correction.
    weight: Floats
    regime: npt.NDArray[np.object_] | None = None


def capacity(windows: Windows, target: float, prior: float, prior_origin: str = "assumed") -> Capacity:
    """Return requests per second of one instance at which the objective's `target` ratio still holds.

    Order of evidence: frontier (good and bad windows), ceiling (saturated windows x knee), extrapolation from how full
    the instances were, prior. The interval is a bootstrap over windows, or the factor 2 for assumptions.
    """
    usable = (windows.rate > 0) & ~(windows.age_seconds < WARM_UP_SECONDS)
    regime, drift, since = _regimes(windows, usable)
    usable &= regime
    load = (windows.rate * windows.weight)[usable]
    good = windows.good_ratio[usable]
    saturated = windows.queue_min[usable] >= 1
    in_flight = _in_flight(windows, usable)
    ceiling = load[saturated]
    judged = np.isfinite(good)
    fresh = ~saturated & ~windows.hangover[usable]
    met = judged & (good >= target) & ~saturated
    missed = judged & (good < target) & fresh
    judged = met | missed
    if met.sum() >= ENOUGH_WINDOWS and missed.sum() >= ENOUGH_WINDOWS:
        value, low, high = _bootstrap(lambda pick: _frontier(load[judged][pick], good[judged][pick], target), judged)
        if len(ceiling) >= 3:
            value = min(value, float(np.quantile(ceiling, 0.9)))
        return Capacity(
            value, min(low, value), max(high, value), "frontier", int(judged.sum()), in_flight, drift, since
        )
    if len(ceiling) >= 3:
        value, low, high = _bootstrap(lambda pick: KNEE_RATIO * float(np.median(ceiling[pick])), saturated)
        best = float(load[met].max()) if met.any() else 0.0
        value = max(value, min(best, value / KNEE_RATIO))
        return Capacity(value, low, max(high, value), "saturation", len(ceiling), in_flight, drift, since)
    full = windows.occupancy[usable]
    fullness = np.isfinite(full) & (full > 0.02)
    if fullness.sum() >= 3:
        estimate = load[fullness] / full[fullness]
        weight = full[fullness] ** 2
        value = KNEE_RATIO * float(np.average(estimate, weights=weight))
        seen = float(load[met].max()) if met.any() else 0.0
        value = max(value, seen)
        return Capacity(
            value, max(seen, value / 2), value * 2, "extrapolated", int(fullness.sum()), in_flight, drift, since
        )
    seen = float(load.max()) if len(load) else 0.0
    value = max(prior, seen)
    return Capacity(value, max(seen, prior / 2), value * 2, f"prior: {prior_origin}", len(load), in_flight)


def _frontier(load: Floats, good: Floats, target: float) -> float:
    """Return the load where good windows stop outweighing bad ones.

    One threshold splits the windows; it is placed where the fewest windows lie on the wrong side, a missed window
    below it weighing more the stricter the target (a tail of 99 % allows one miss in a hundred, not one in two).
    """
    order = np.argsort(load, kind="stable")
    loads, bad = load[order], good[order] < target
    penalty = min(1 / (1 - target), 20.0) if target < 1 else 20.0
    below = np.concatenate([[0.0], np.cumsum(bad)]) * penalty * 0.25
    above = np.concatenate([np.cumsum((~bad)[::-1])[::-1], [0.0]])
    cut = int(np.argmin(below + above))
    if cut == 0:
        return float(loads[0])
    if cut == len(loads):
        return float(loads[-1])
    return float((loads[cut - 1] + loads[cut]) / 2)


def _bootstrap(
    estimate: Callable[[Ints], float], members: npt.NDArray[np.bool_], rounds: int = 60
) -> tuple[float, float, float]:
    """Return the estimate with its 5 % and 95 % bootstrap quantiles (seeded: the same windows, the same answer)."""
    count = int(members.sum())
    generator = np.random.default_rng(count)
    whole = float(estimate(np.arange(count)))
    draws = [float(estimate(np.sort(generator.integers(0, count, count)))) for _ in range(rounds)]
    return whole, float(np.quantile(draws, 0.05)), float(np.quantile(draws, 0.95))


def _in_flight(windows: Windows, usable: npt.NDArray[np.bool_]) -> float:
    """Return the requests in flight of the busier half of the windows that met the objective (or of all)."""
    fine = usable & (windows.queue_min < 1) & np.isfinite(windows.running)
    chosen = windows.running[fine if fine.any() else usable]
    chosen = chosen[np.isfinite(chosen)]
    return float(np.quantile(chosen, 0.75)) if len(chosen) else nan


def _regimes(windows: Windows, usable: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.bool_], float, str | None]:
    """Return the windows of the newest regime (version), and the change of its best rate against the one before."""
    everything = np.ones(len(windows.rate), dtype=bool)
    if windows.regime is None or not usable.any():
        return everything, nan, None
    names = windows.regime[usable]
    newest = names[-1]
    mine = np.array([name == newest for name in windows.regime], dtype=bool)
    load = windows.rate * windows.weight
    old = usable & ~mine & (windows.queue_min >= 1)
    new = usable & mine & (windows.queue_min >= 1)
    if (usable & mine).sum() < ENOUGH_WINDOWS:
        return everything, nan, None
    if old.sum() < 3 or new.sum() < 3:
        return mine, nan, None
    change = float(np.median(load[new]) / np.median(load[old]) - 1)
    return mine, change, str(newest) if newest is not None else None

"""Forecasts demand at the cold start from its own history; knows no engine and no clock but the series' times.

Short horizons are ruled by the level of now and its growth over the lead (analytics.scaling.growth). A daily or weekly
curve (analytics.forecast) is merged in where history carries one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from math import ceil, exp, isfinite, nan, sqrt

import numpy as np
import numpy.typing as npt

from analytics.scaling.growth import (
    MEMORIES,
    NOW,
    Growth,
    lead_steps,
    learn_growth,
    levels_of,
    recent_misses,
    remembered_miss,
)
from analytics.scaling.state import Demand

Floats = npt.NDArray[np.float64]

#: Growth assumed per second before a series has shown its own (30 % in 5 minutes, as in the seed's example).
ASSUMED_GROWTH_PER_SECOND = 0.30 / 300
#: How far back the highest level is remembered.
HIGH_SECONDS = 3 * 3600.0


def demand(
    values: Floats,
    step_seconds: float,
    horizon_seconds: float,
    stay_seconds: float | None = None,
    growth: Growth | None = None,
) -> Demand:
    """Return demand now and its quantiles at the horizon from one evenly spaced series (req/s, newest last).

    `growth` was learned of more of the series than is given; without one it is learned of what is given.
    """
    if not np.isfinite(values).any():
        return Demand()
    levels = levels_of(values, step_seconds)
    if growth is None:
        growth = learn_growth(values, levels, step_seconds, horizon_seconds, stay_seconds or 2 * horizon_seconds)
        recent = growth.recent if growth else nan
    else:
        recent = recent_misses(growth, values, levels, step_seconds, horizon_seconds)
    found = outlook(tuple(levels[-1].tolist()), growth, recent, horizon_seconds, step_seconds)
    high = levels[-ceil(HIGH_SECONDS / step_seconds) :, NOW]
    return replace(found, high=float(np.nanmax(high)) if np.isfinite(high).any() else nan)


def growth_of(values: Floats, step_seconds: float, horizon_seconds: float, stay_seconds: float) -> Growth | None:
    """Return how a series grows over the horizon, to be given to `demand` later; None where too little is known."""
    return learn_growth(values, levels_of(values, step_seconds), step_seconds, horizon_seconds, stay_seconds)


def outlook(
    levels: tuple[float, ...], growth: Growth | None, recent: float, horizon_seconds: float, step_seconds: float
) -> Demand:
    """Return the demand record for the levels of now; `growth` None means that none was learned yet.

    `recent` is the mean square of the growth's misses of the last minutes.
    """
    now = levels[NOW]
    if not isfinite(now):
        return Demand()
    if growth is None:
        grown = now * (1 + ASSUMED_GROWTH_PER_SECOND * horizon_seconds)
        noise = sqrt(max(now, 0.0) / step_seconds)
        more = now * (1 + 2 * ASSUMED_GROWTH_PER_SECOND * horizon_seconds) + 2.33 * noise
        q90 = grown + 1.28 * noise
        return Demand(now, now, q90, more, 2 * more - q90, now, "assumed growth of 30 % in 5 min")
    q50, q90, q99, q999, stay = growth.quantiles(levels, recent)
    return Demand(now, q50, q90, q99, q999, stay, f"level of now and own growth over {horizon_seconds:.0f} s")


def with_curve(found: Demand, path: Floats, step_seconds: float, horizon_seconds: float, stay_seconds: float) -> Demand:
    """Merge a forecast path (steps x q50, q90, q99 in req/s, first row one step ahead) into the short-horizon view."""
    lead = min(len(path), max(1, ceil(horizon_seconds / step_seconds)))
    stay = min(len(path), max(lead, ceil(stay_seconds / step_seconds)))
    upto = path[:lead].max(axis=0)
    # The level of now knows the last minutes, the curve knows the day: the higher of both on the way up.
    q50, q90, q99 = (max(a, float(b)) for a, b in zip((found.q50, found.q90, found.q99), upto, strict=True))
    q999 = max(found.q999, q99)
    later = max(found.stay, float(path[:stay, 0].max()))
    return replace(found, q50=q50, q90=q90, q99=q99, q999=q999, stay=later, basis=f"{found.basis}; curve of the day")


class Outlook:
    """Held state: demand read step by step, growth learned again from the last seven days every hour.

    What `demand` computes from a whole series, at the price of a few exponential means per reading.
    """

    #: Growth is learned at this step, over this much of the past.
    STEP_SECONDS = 60.0
    KEPT = 10_080
    REFRESH_SECONDS = 3600.0

    def __init__(self, horizon_seconds: float, stay_seconds: float) -> None:
        self._horizon, self._stay = horizon_seconds, stay_seconds
        self._lead = lead_steps(horizon_seconds, self.STEP_SECONDS)
        self._values: deque[float] = deque(maxlen=self.KEPT)
        self._levels: deque[tuple[float, ...]] = deque(maxlen=self.KEPT)
        self._highs: deque[tuple[float, float]] = deque()
        self._means: tuple[float, ...] = ()
        self._open: list[float] = []
        self._slot: int | None = None
        self._at = 0.0
        self._growth: Growth | None = None
        self._recent = nan
        self._next = 0.0

    def warm(self, history: Floats, step_seconds: float) -> None:
        """Start with rates of the past that end where the run begins; the last seven days are kept."""
        keep = int(self.KEPT * self.STEP_SECONDS / step_seconds)
        for place, rate in enumerate(history[-keep:].tolist()):
            self.add((place - min(len(history), keep)) * step_seconds, rate)

    def add(self, seconds: float, rate: float) -> None:
        """Take the rate read at `seconds`."""
        slot = int(seconds // self.STEP_SECONDS)
        if self._slot is not None and slot != self._slot:
            self._close(sum(self._open) / len(self._open) if self._open else nan)
            for _ in range(min(slot - self._slot - 1, self.KEPT)):  # steps in which nothing was read
                self._close(nan)
            self._open = []
        self._slot = slot
        self._open.append(rate)
        passed = max(seconds - self._at, 0.0)
        if self._means:
            keeps = [exp(-passed / memory) for memory in MEMORIES]
            self._means = tuple(k * mean + (1 - k) * rate for k, mean in zip(keeps, self._means, strict=True))
        else:
            self._means = (rate,) * len(MEMORIES)
        self._at = seconds
        self._heighten(seconds, self._means[NOW])
        if seconds >= self._next:
            values, levels = np.array(self._values), np.array(self._levels)
            if len(values):
                self._growth = learn_growth(values, levels, self.STEP_SECONDS, self._horizon, self._stay)
                self._recent = self._growth.recent if self._growth else nan
            self._next = seconds + self.REFRESH_SECONDS

    def demand(self) -> Demand:
        """Return demand now and at the horizon."""
        if not self._means:
            return Demand()
        found = outlook(self._means, self._growth, self._recent, self._horizon, self.STEP_SECONDS)
        return replace(found, high=self._highs[0][1])

    def _close(self, value: float) -> None:
        """Keep a finished step, and learn by how much the growth of one lead ago missed it."""
        self._values.append(value)
        self._levels.append(self._means)
        if self._growth is not None and len(self._levels) > self._lead:
            then = self._levels[-1 - self._lead]
            self._recent = remembered_miss(self._recent, self._growth.missed(then, value), self.STEP_SECONDS)

    def _heighten(self, seconds: float, level: float) -> None:
        while self._highs and self._highs[0][0] < seconds - HIGH_SECONDS:
            self._highs.popleft()
        while self._highs and self._highs[-1][1] <= level:
            self._highs.pop()
        self._highs.append((seconds, level))

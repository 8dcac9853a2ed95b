"""Holds one signal before and during an incident, with robust statistics; a signal that is missing has no Shift."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from analytics.rootcause.leaves import FloatArray

#: From the median absolute deviation to a standard deviation, for normal data.
MAD_TO_SIGMA = 1.4826
#: A spread below this share of the level is rounding: without a floor, a constant history makes any move infinite
#: (bytes with an interquartile range of 0 cost one published scorer half of its hits).
SPREAD_FLOOR = 0.02


@dataclass(frozen=True, slots=True)
class Shift:
    """A signal's level before and during, in its own unit; `low` and `peak` are the extremes during."""

    signal: str
    before: float
    during: float
    spread: float = float("nan")
    low: float = float("nan")
    peak: float = float("nan")

    @property
    def ratio(self) -> float:
        """Return during ÷ before; infinite when something grew from nothing, 1 when both are 0."""
        if self.before == 0:
            return 1.0 if self.during == 0 else float("inf")
        return self.during / self.before

    @property
    def rise(self) -> float:
        return self.during - self.before

    @property
    def z(self) -> float:
        """Return the rise in robust standard deviations of the history; NaN where there is no history to speak of."""
        return self.rise / self.spread if isfinite(self.spread) and self.spread > 0 else float("nan")


def shift_of(signal: str, before: FloatArray, during: FloatArray) -> Shift | None:
    """Compare two samples of one signal (NaN = missing); None where either has no value."""
    old, new = before[np.isfinite(before)], during[np.isfinite(during)]
    if not len(old) or not len(new):
        return None
    level = float(np.mean(old))
    deviation = float(np.median(np.abs(old - np.median(old)))) * MAD_TO_SIGMA
    spread = max(deviation, SPREAD_FLOOR * abs(level), 1e-9)
    return Shift(signal, level, float(np.mean(new)), spread, float(new.min()), float(new.max()))

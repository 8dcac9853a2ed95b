"""A distribution given as values at percentiles: its mean, quantiles and expected largest; never fits a shape.

Between the given percentiles values are linear; below the first and above the last they stay at its value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analytics.planners.form import Named

__all__ = ["Distribution", "percentiles"]

Floats = npt.NDArray[np.float64]
#: Levels at which expectations are summed: dense towards 1, where the longest of many lies.
_LEVELS = np.concatenate([np.linspace(0, 0.99, 397), 1 - np.logspace(-2, -7, 200), [1.0]])


@dataclass(frozen=True, slots=True)
class Distribution:
    """Sorted levels in 0..1 and their non-decreasing values."""

    levels: tuple[float, ...]
    values: tuple[float, ...]

    def quantile(self, level: float | Floats) -> Floats:
        """Return the value at `level` (0..1)."""
        return np.asarray(np.interp(level, self.levels, self.values))

    def share_below(self, value: float | Floats) -> Floats:
        """Return the share of the distribution at or below `value`."""
        values = np.asarray(self.values) + np.arange(len(self.values)) * 1e-12 * max(1.0, self.values[-1])
        return np.asarray(np.interp(value, values, self.levels, left=0.0, right=1.0))

    def mean(self) -> float:
        """Return the mean."""
        return float(np.trapezoid(self.quantile(_LEVELS), _LEVELS))

    def largest_of(self, count: float) -> float:
        """Return the expected largest of `count` independent draws: the integral of Q(u) d(u^count)."""
        weights = np.diff(_LEVELS ** max(1.0, count))
        middles = (self.quantile(_LEVELS[1:]) + self.quantile(_LEVELS[:-1])) / 2
        return float(np.sum(weights * middles))


def percentiles(table: Named) -> Distribution:
    """Read {"50": value, "99": value, ...}; keys that are no percentile are left out, values are put in order.

    >>> float(percentiles((("0", 0.0), ("100", 10.0))).quantile(0.5))
    5.0
    """
    pairs = sorted((level, value) for key, value in table if (level := _level(key)) is not None)
    if not pairs:
        pairs = [(0.5, value) for _, value in table[:1]]
    values = np.maximum.accumulate([value for _, value in pairs])
    return Distribution(tuple(level for level, _ in pairs), tuple(float(value) for value in values))


def _level(key: str) -> float | None:
    try:
        level = float(key.removeprefix("p")) / 100
    except ValueError:
        return None
    return level if 0 <= level <= 1 else None

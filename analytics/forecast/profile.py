"""The typical day: a weighted mean of the same local time on earlier days; in square roots.

Square roots tame bursts, keep zeros, and do not care about units; a mean of roots is between mean and median.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.history import FloatArray, History, IntArray
from analytics.forecast.windows import centred_mean, weighted_mean

#: Neighbours within this time lend their value to a step of an earlier day.
SMOOTH_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Profile:
    """Days to look back and their weights; days that are not known are left out of the mean.

    Smoothing calms a noisy day and blunts what happens at the same minute every hour, so both kinds exist.
    """

    days: tuple[int, ...]
    weights: tuple[float, ...]
    smooth: bool = False

    def at(self, roots: Lookback, index: IntArray, leads: IntArray) -> FloatArray:
        """Return the root of typical demand at `index`, seen from `leads` steps before (broadcast to `index`)."""
        return weighted_mean(self.weights, [roots.days_before(index, leads, days, self.smooth) for days in self.days])


@dataclass(frozen=True, slots=True)
class Lookback:
    """A series on the history's grid, plain and smoothed, that can be asked for earlier days without peeking."""

    history: History
    plain: FloatArray
    smooth: FloatArray
    half: int

    def days_before(self, index: IntArray, leads: IntArray, days: int, smooth: bool = False) -> FloatArray:
        """Return the root at the same local time `days` earlier, or the least multiple that was known then."""
        day = self.history.day
        beyond = days * np.maximum(1, -(-np.asarray(leads) // (days * day)))
        place = self.history.days_before(index, np.broadcast_to(beyond, index.shape))
        origin = index - leads + 1
        edge = place + self.half >= origin
        inside = (place >= 0) & (place < np.minimum(origin, len(self.plain)))
        safe = np.clip(place, 0, max(0, len(self.plain) - 1))
        if len(self.plain) == 0:
            return np.full(index.shape, np.nan)
        value = np.where(edge, self.plain[safe], self.smooth[safe]) if smooth else self.plain[safe]
        found: FloatArray = np.where(inside, value, np.nan)
        return found


def roots_of(history: History) -> Lookback:
    """Return the square roots of `history`."""
    return lookback(history, np.sqrt(history.values))


def lookback(history: History, series: FloatArray) -> Lookback:
    """Return a series of one value a step of `history`, ready to be looked back on."""
    half = SMOOTH_SECONDS // history.step_seconds
    return Lookback(history, series, centred_mean(series, half), half)


def from_root(root: FloatArray) -> FloatArray:
    """Return demand from its root; a negative root is no demand."""
    demand: FloatArray = np.square(np.maximum(root, 0.0))
    return demand


#: The past week, each day alike: slow to follow, hard to fool.
WEEK = Profile((1, 2, 3, 4, 5, 6, 7), (1.0,) * 7)
#: The base that the direct ridge corrects.
MIXED = Profile((1, 2, 3, 7, 14), (0.35, 0.2, 0.1, 0.25, 0.1))
YESTERDAY = Profile((1,), (1.0,))
SAME_WEEKDAY = Profile((7,), (1.0,))
#: The same weekday of four weeks.
WEEKS = Profile((7, 14, 21, 28), (1.0,) * 4)
SAME_WEEKDAY_SMOOTH = Profile((7,), (1.0,), smooth=True)

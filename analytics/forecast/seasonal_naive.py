"""The naive forecasts: the same local time one season ago; never smooths, never scales."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.history import FloatArray, History, IntArray
from analytics.forecast.member import Formula, targets


@dataclass(frozen=True, slots=True)
class SeasonalNaive(Formula):
    """The value of the same local time `season_days` ago (or the least multiple of it that is known)."""

    name: str
    season_days: int

    def paths(self, history: History, origins: IntArray, leads: IntArray) -> FloatArray:
        """Return the newest known value of the season's past three repetitions, so that a gap is bridged."""
        wanted = targets(origins, leads)
        found = np.full(wanted.shape, np.nan)
        nearest = self.season_days * np.maximum(1, -(-leads // (self.season_days * history.day)))
        for repetition in range(3):
            days = np.broadcast_to(nearest + repetition * self.season_days, wanted.shape)
            index = history.days_before(wanted, days)
            index = np.where(index < origins[:, None], index, -1)
            found = np.where(np.isnan(found), history.at(index), found)
        return found


NAIVE_DAY = SeasonalNaive("naive_day", 1)
NAIVE_WEEK = SeasonalNaive("naive_week", 7)

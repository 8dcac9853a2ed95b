"""The recent level, held flat: what demand did a moment, an hour, a day ago; never knows the time of day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.history import FloatArray, History, IntArray
from analytics.forecast.member import Formula
from analytics.forecast.windows import nearest_mean


@dataclass(frozen=True, slots=True)
class Level(Formula):
    """The mean of the newest `window_seconds` for every lead; in square roots it leans towards the median."""

    name: str
    window_seconds: float
    in_roots: bool = False

    def paths(self, history: History, origins: IntArray, leads: IntArray) -> FloatArray:
        """Return the level, reaching further back where the newest steps are missing."""
        values = np.sqrt(history.values) if self.in_roots else history.values
        level = nearest_mean(values, origins, history.steps(self.window_seconds))
        level = np.square(level) if self.in_roots else level
        return np.repeat(level[:, None], len(leads), axis=1)


LAST = Level("last_value", 600)
LAST_HOUR = Level("last_hour", 3_600)
LAST_DAY = Level("last_day", 86_400, in_roots=True)

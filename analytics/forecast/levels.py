"""The recent level, held flat: what demand did a moment, an hour, a day ago; never knows the time of day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.hist_gradient import trailing_mean
from analytics.forecast.history import FloatArray, History, IntArray


@dataclass(frozen=True, slots=True)
class Level:
    """The mean of the newest `window_seconds`, for every lead."""

    name: str
    window_seconds: float

    def fit(self, history: History, until: int) -> Level:
        """Return itself: nothing is estimated."""
        del history, until
        return self

    def paths(self, history: History, origins: IntArray, leads: IntArray) -> FloatArray:
        """Return the level, reaching further back where the newest steps are missing."""
        window = history.steps(self.window_seconds)
        level = trailing_mean(history, origins, window)
        while np.isnan(level).any() and window < len(history):
            window *= 4
            level = np.where(np.isnan(level), trailing_mean(history, origins, window), level)
        return np.repeat(level[:, None], len(leads), axis=1)


LAST = Level("last_value", 900)
LAST_DAY = Level("last_day", 86_400)

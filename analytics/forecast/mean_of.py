"""The mean of several members; never weighs them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from analytics.forecast.history import FloatArray, History, IntArray
from analytics.forecast.member import Member


@dataclass(frozen=True, slots=True)
class MeanOf:
    """The plain mean of `members` that have an answer."""

    name: str
    members: tuple[Member, ...]

    def fit(self, history: History, until: int) -> MeanOf:
        """Return the same mean over fitted members."""
        return MeanOf(self.name, tuple(member.fit(history, until) for member in self.members))

    def paths(self, history: History, origins: IntArray, leads: IntArray) -> FloatArray:
        """Return the mean over the members that say something."""
        every = np.stack([member.paths(history, origins, leads) for member in self.members])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            mean: FloatArray = np.nanmean(every, axis=0)
        return mean

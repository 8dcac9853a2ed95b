"""The typical day, moved to where demand is now; how long that lasts is the member's one idea."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.history import FloatArray, History, IntArray
from analytics.forecast.member import Formula, targets
from analytics.forecast.profile import WEEK, WEEKDAY, Profile, from_root, roots_of
from analytics.forecast.windows import nearest_mean

#: How long a deviation from the profile lasts that was seen over half an hour, three hours: measured on tuning series.
FAST_DECAY_HOURS, SLOW_DECAY_HOURS = 1.0, 6.0


@dataclass(frozen=True, slots=True)
class ProfileLevel(Formula):
    """A profile plus the recent deviation from it, in square roots.

    `follow` is "never" (the bare profile), "damped" (deviations of the last half hour and three hours fade, the last
    day's stays) or "always" (the last three hours' deviation stays for good).
    """

    name: str
    profile: Profile
    follow: str = "damped"

    def paths(self, history: History, origins: IntArray, leads: IntArray) -> FloatArray:
        """Return the moved profile."""
        roots = roots_of(history)
        base = self.profile.at(roots, targets(origins, leads), leads[None, :])
        if self.follow == "never" or len(history) == 0:
            return from_root(base)
        every = np.arange(len(history), dtype=np.int64)
        deviation = roots.plain - self.profile.at(roots, every, np.ones(1, dtype=np.int64))
        hours = [_level(deviation, origins, history, seconds) for seconds in (1800, 3 * 3600, 86_400)]
        half_hour, three_hours, day = (level[:, None] for level in hours)
        if self.follow == "always":
            return from_root(base + three_hours)
        ahead = leads[None, :] * history.step_seconds / 3600
        fast, slow = np.exp(-ahead / FAST_DECAY_HOURS), np.exp(-ahead / SLOW_DECAY_HOURS)
        return from_root(base + fast * (half_hour - three_hours) + slow * (three_hours - day) + day)


def _level(deviation: FloatArray, origins: IntArray, history: History, seconds: float) -> FloatArray:
    return np.nan_to_num(nearest_mean(deviation, origins, history.steps(seconds)))


WEEK_PROFILE = ProfileLevel("week_profile", WEEK, "never")
WEEKDAY_PROFILE = ProfileLevel("weekday_profile", WEEKDAY, "never")
PROFILE_LEVEL = ProfileLevel("profile_level", WEEK, "damped")
PROFILE_FOLLOW = ProfileLevel("profile_follow", WEEK, "always")

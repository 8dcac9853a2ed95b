"""The typical day, moved to where demand is now; how long that lasts is the member's one idea."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.history import FloatArray, History, IntArray
from analytics.forecast.member import Formula, targets
from analytics.forecast.profile import (
    SAME_WEEKDAY,
    SAME_WEEKDAY_SMOOTH,
    WEEK,
    WEEKS,
    YESTERDAY,
    Profile,
    from_root,
    roots_of,
)
from analytics.forecast.windows import nearest_mean

FOR_GOOD = float("inf")
STEP, HALF_HOUR, THREE_HOURS, DAY = 1, 1_800, 10_800, 86_400


@dataclass(frozen=True, slots=True)
class ProfileLevel(Formula):
    """A profile plus the recent deviation from it, in square roots.

    `follow` lists (window in seconds, hours until a third of it is left), shortest window first: what the shorter
    window shows beyond the next longer one fades at its pace. Decays were chosen on the tuning series. Beyond
    `until_seconds` the member has nothing to say.
    """

    name: str
    profile: Profile
    follow: tuple[tuple[float, float], ...] = ()
    until_seconds: float = FOR_GOOD

    def paths(self, history: History, origins: IntArray, leads: IntArray) -> FloatArray:
        """Return the moved profile."""
        roots = roots_of(history)
        path = self.profile.at(roots, targets(origins, leads), leads[None, :])
        if self.follow and len(history):
            every = np.arange(len(history), dtype=np.int64)
            deviation = roots.plain - self.profile.at(roots, every, np.ones(1, dtype=np.int64))
            levels = [nearest_mean(deviation, origins, history.steps(window)) for window, _ in self.follow]
            known = [np.nan_to_num(level) for level in levels] + [np.zeros(len(origins))]
            hours = leads * history.step_seconds / 3600
            for place, (_, pace) in enumerate(self.follow):
                path = path + (known[place] - known[place + 1])[:, None] * np.exp(-hours / pace)[None, :]
        demand = from_root(path)
        demand[:, leads * history.step_seconds > self.until_seconds] = np.nan
        return demand


WEEKS_PROFILE = ProfileLevel("weeks_profile", WEEKS)
PROFILE_LEVEL = ProfileLevel("profile_level", WEEK, ((HALF_HOUR, 1.0), (THREE_HOURS, 6.0), (DAY, FOR_GOOD)))
PROFILE_FOLLOW = ProfileLevel("profile_follow", WEEK, ((THREE_HOURS, FOR_GOOD),))
YESTERDAY_STEP = ProfileLevel("yesterday_step", YESTERDAY, ((STEP, 3.0),))
WEEK_STEP = ProfileLevel("week_step", WEEK, ((STEP, 3.0),), THREE_HOURS)
WEEKDAY_STEP = ProfileLevel("weekday_step", SAME_WEEKDAY, ((STEP, 3.0),), THREE_HOURS)
LAST_WEEK_LEVEL = ProfileLevel("last_week_level", SAME_WEEKDAY_SMOOTH, ((STEP, 3.0), (DAY, 24.0)))

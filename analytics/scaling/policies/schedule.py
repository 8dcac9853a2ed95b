"""Plans that look at no load: the peak of the past all day, and yesterday's curve again."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

import numpy as np

from analytics.scaling.policies.form import Observation, Setting, clip

DAY_SECONDS = 86_400.0


@dataclass
class StaticPeak:
    """As many instances as `target` times the past's peak needs, always."""

    setting: Setting
    target: float
    interval_seconds: float = 3600.0

    def desired(self, seen: Observation) -> int:
        history = self.setting.history
        if not np.isfinite(history).any():
            return seen.asked
        return clip(ceil(self.target * float(np.nanmax(history)) / self.setting.capacity), self.setting)


@dataclass
class Yesterday:
    """What was needed a day ago, asked for one cold start early, times `target`.

    The first day runs on the end of the history, later days on what was seen since.
    """

    setting: Setting
    target: float
    interval_seconds: float = 60.0
    _seen: list[float] = field(default_factory=list)
    _sums: dict[int, list[float]] = field(default_factory=dict)

    def desired(self, seen: Observation) -> int:
        step = self.setting.history_step_seconds
        if seen.arrival_rate == seen.arrival_rate:
            self._sums.setdefault(int(seen.seconds // step), []).append(seen.arrival_rate)
        lead = seen.seconds + self.setting.cold_start_seconds
        rates = [self._rate(int(at // step)) for at in (seen.seconds, lead, lead + step)]
        known = [rate for rate in rates if rate == rate]
        if not known:
            return seen.asked
        return clip(ceil(self.target * max(known) / self.setting.capacity), self.setting)

    def _rate(self, slot: int) -> float:
        """Return the mean rate of the slot one day before `slot`."""
        before = slot - int(DAY_SECONDS // self.setting.history_step_seconds)
        if before < 0:
            history = self.setting.history
            return float(history[before]) if -before <= len(history) else float("nan")
        values = self._sums.get(before)
        return sum(values) / len(values) if values else float("nan")

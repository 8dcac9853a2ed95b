"""AIBrix's APA: the mean of a metric per pod over 180 s against a target, 10 % either side; from its source.

At most double or half in one step; down to the largest recommendation of 300 s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor

from analytics.scaling.policies.form import Observation, RollingMax, RollingMean, Setting, clip

WINDOW_SECONDS = 180.0
FLUCTUATION = 0.1


@dataclass
class Aibrix:
    """Held state; the metric is requests in flight per pod, `target` its share of the knee."""

    setting: Setting
    target: float
    interval_seconds: float = 15.0
    mean: RollingMean = field(default_factory=lambda: RollingMean(WINDOW_SECONDS))
    window: RollingMax = field(default_factory=lambda: RollingMax(300.0))

    def desired(self, seen: Observation) -> int:
        per_pod = self.mean.add(seen.seconds, (seen.running + seen.queue) / max(seen.ready, 1))
        if per_pod != per_pod:
            return seen.asked
        target, current = self.target * self.setting.in_flight, max(seen.asked, 1)
        wanted = current
        if per_pod > (1 + FLUCTUATION) * target:
            wanted = min(ceil(current * per_pod / target), ceil(2 * current))
        elif per_pod < (1 - FLUCTUATION) * target:
            wanted = max(ceil(current * per_pod / target), floor(current / 2))
        return clip(self.window.add(seen.seconds, wanted), self.setting)

"""Kubernetes HPA v2 rules over any metric; what KEDA drives as well. From the controller's published algorithm.

Every 15 s: ratio = total / (target x replicas); within 10 % nothing happens, else ceil(total / target). Up at most the
larger of +100 % and +4 per 15 s; down to the largest recommendation of 300 s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

from analytics.scaling.policies.form import Observation, RollingMax, Setting, clip

TOLERANCE = 0.1
DOWN_WINDOW_SECONDS = 300.0


@dataclass
class Hpa:
    """Held state of one HPA with an external metric of type AverageValue."""

    setting: Setting
    target: float
    interval_seconds: float = 15.0
    window: RollingMax = field(default_factory=lambda: RollingMax(DOWN_WINDOW_SECONDS))

    def from_total(self, seen: Observation, total: float) -> int:
        """Return the desired replicas for a metric summed over the pool; a missing metric changes nothing."""
        current = max(seen.asked, 1)
        if total != total:
            return seen.asked
        wanted = current
        if abs(total / (self.target * current) - 1) > TOLERANCE:
            wanted = ceil(total / self.target - 1e-9)
        wanted = min(wanted, max(2 * current, current + 4))
        return clip(self.window.add(seen.seconds, wanted), self.setting)


@dataclass
class HpaQueue(Hpa):
    """Scales on waiting requests: `target` of them per replica."""

    def desired(self, seen: Observation) -> int:
        return self.from_total(seen, seen.queue)


@dataclass
class HpaGpu(Hpa):
    """Scales on GPU utilisation (a Pods metric: mean over ready pods; pods that start count as idle on the way up)."""

    def desired(self, seen: Observation) -> int:
        mean = seen.gpu_busy_ratio
        if mean != mean:
            return seen.asked
        ratio = mean / self.target
        current = max(seen.asked, 1)
        wanted = current
        if abs(ratio - 1) > TOLERANCE:
            counted = seen.ready + seen.starting if ratio > 1 else seen.ready
            again = mean * seen.ready / max(counted, 1) / self.target
            flipped = (again > 1) != (ratio > 1)
            wanted = current if flipped or abs(again - 1) <= TOLERANCE else ceil(again * counted - 1e-9)
        wanted = min(wanted, max(2 * current, current + 4))
        return clip(self.window.add(seen.seconds, wanted), self.setting)


@dataclass
class KedaInFlight(Hpa):
    """KEDA on running + waiting requests: `target` is the share of the requests an instance holds at its knee.

    KEDA polls every 30 s and hands the number to an HPA; its own cooldown concerns only the step to zero.
    """

    interval_seconds: float = 30.0

    def __post_init__(self) -> None:
        self.target = self.target * self.setting.in_flight

    def desired(self, seen: Observation) -> int:
        return self.from_total(seen, seen.running + seen.queue)

"""Knative's pod autoscaler (KPA) on concurrency, from its published algorithm and default configuration.

Stable window 60 s, panic window 6 s of the total concurrency; target = share of the concurrency limit; panic from
twice the ready capacity on, for 60 s, in which nothing is taken away.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor, inf

from analytics.scaling.policies.form import Observation, RollingMean, Setting, clip

STABLE_SECONDS = 60.0
PANIC_SECONDS = 6.0
PANIC_RATIO = 2.0
LARGEST_UP = 1000.0
LARGEST_DOWN = 2.0


@dataclass
class Knative:
    """Held state of one KPA; `target` is the share of an instance's concurrency limit (0.7 by default)."""

    setting: Setting
    target: float
    interval_seconds: float = 2.0
    stable: RollingMean = field(default_factory=lambda: RollingMean(STABLE_SECONDS))
    panic: RollingMean = field(default_factory=lambda: RollingMean(PANIC_SECONDS))
    _panicked: float = -inf
    _most: int = 0

    def desired(self, seen: Observation) -> int:
        concurrency = seen.running + seen.queue
        each = self.target * self.setting.in_flight
        stable = self.stable.add(seen.seconds, concurrency)
        panic = self.panic.add(seen.seconds, concurrency)
        if stable != stable:
            return seen.asked
        ready = max(seen.ready, 1)
        low, high = floor(ready / LARGEST_DOWN), ceil(LARGEST_UP * ready)
        raw = ceil((panic if panic == panic else stable) / each)
        slow = min(max(ceil(stable / each), low), high)
        fast = min(max(raw, low), high)
        if raw / ready >= PANIC_RATIO:
            self._most = self._most if self._panicked > -inf else 0
            self._panicked = seen.seconds
        elif seen.seconds - self._panicked > STABLE_SECONDS:
            self._panicked, self._most = -inf, 0
        if self._panicked > -inf:
            self._most = max(self._most, slow, fast)
            return clip(self._most, self.setting)
        return clip(slow, self.setting)

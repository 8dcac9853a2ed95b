"""llm-d's workload variant autoscaler: V1 (spare KV and queue) and V2 (tokens against capacity), from its source.

Both look every 60 s and leave a pool alone while anything is starting or a page is missing; an HPA behind holds
scale-down for 300 s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor

from analytics.scaling.policies.form import Observation, RollingMax, Setting, clip

#: V1: a replica is saturated from here on; spare below the triggers asks for one more.
KV_SATURATED, QUEUE_SATURATED = 0.80, 5.0
KV_SPARE, QUEUE_SPARE = 0.10, 3.0
#: V2: utilisation to plan for on the way up, and to fall below before giving back.
UP_RATIO, DOWN_RATIO = 0.85, 0.70


@dataclass
class WvaV1:
    """Held state; `target` scales the KV at which a replica counts as saturated (1 = 0.80)."""

    setting: Setting
    target: float
    interval_seconds: float = 60.0
    window: RollingMax = field(default_factory=lambda: RollingMax(300.0))

    def desired(self, seen: Observation) -> int:
        if seen.starting or seen.reporting != seen.ready or seen.kv_usage_ratio != seen.kv_usage_ratio:
            return seen.asked
        ready = max(seen.ready, 1)
        saturated_kv = KV_SATURATED * self.target
        kv, queue = seen.kv_usage_ratio, seen.queue / ready
        wanted = seen.asked
        # A saturated pool has no spare at all, which the same two comparisons catch.
        if saturated_kv - kv < KV_SPARE or QUEUE_SATURATED - queue < QUEUE_SPARE:
            wanted += 1
        elif ready >= 2:
            fewer = ready / (ready - 1)
            if saturated_kv - kv * fewer >= KV_SPARE and QUEUE_SATURATED - queue * fewer >= QUEUE_SPARE:
                wanted -= 1
        return clip(self.window.add(seen.seconds, wanted), self.setting)


@dataclass
class WvaV2:
    """Held state; `target` scales the planned utilisation of both directions (1 = 0.85 and 0.70)."""

    setting: Setting
    target: float
    interval_seconds: float = 60.0
    window: RollingMax = field(default_factory=lambda: RollingMax(300.0))
    _learned: list[float] = field(default_factory=list)

    def desired(self, seen: Observation) -> int:
        if seen.reporting != seen.ready or seen.kv_usage_ratio != seen.kv_usage_ratio:
            return seen.asked
        setting, ready = self.setting, max(seen.ready, 1)
        used = seen.kv_usage_ratio * setting.kv_tokens
        if seen.queue / ready >= QUEUE_SATURATED:
            self._learned = [*self._learned[-9:], used]
        memory = 0.8 * setting.kv_tokens
        compute = sum(self._learned) / len(self._learned) if self._learned else self._derived()
        each = min(memory, compute)
        wanted_tokens = used * ready + seen.queue * setting.input_tokens
        required = wanted_tokens / (UP_RATIO * self.target) - (ready + seen.starting) * each
        spare = ready * each - wanted_tokens / (DOWN_RATIO * self.target)
        wanted = seen.asked
        if required > 0:
            wanted += ceil(required / each)
        elif spare > 0 and not seen.starting:
            wanted -= floor(spare / each)
        return clip(self.window.add(seen.seconds, max(wanted, 1)), self.setting)

    def _derived(self) -> float:
        """Tokens in use with a full batch: the requests at the knee times what each holds half-way."""
        return self.setting.in_flight * (self.setting.input_tokens + self.setting.output_tokens / 2)

"""A fluid model of a pool: rates instead of requests, so that a fortnight takes a second; knows no single request.

One instance serves `capacity` requests per second within its objectives; what comes above waits. A request is good
where the wait at its arrival is within the objective. Instances are billed from being asked for until drained.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import exp, inf

import numpy as np
import numpy.typing as npt

from analytics.scaling.policies.form import Observation, Policy, Setting

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Run:
    """What a policy did over the ticks: instances asked for and ready, arrivals, and how many of them were good."""

    tick_seconds: float
    asked: npt.NDArray[np.int64]
    ready: npt.NDArray[np.int64]
    arrived: Floats
    good: Floats
    #: Instances that were paid for in each tick.
    billed: Floats
    queue: Floats


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong between two times: `kind` is gap, nan, reset, relabel, stale_pod, pending or restart."""

    kind: str
    start: float
    end: float


def run(
    demand: Floats,
    policy: Policy,
    setting: Setting,
    first: int,
    faults: tuple[Fault, ...] = (),
    restart: Policy | None = None,
) -> Run:
    """Run a policy on arrivals per second, one value per tick, from `first` ready instances on."""
    pool = _Pool(setting, first)
    count = len(demand)
    tick = setting.tick_seconds
    asked, ready = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    good, billed, queue = np.zeros(count), np.zeros(count), np.zeros(count)
    due = 0.0
    for k, rate in enumerate(demand.tolist()):
        now = k * tick
        active = [fault.kind for fault in faults if fault.start <= now < fault.end] if faults else ()
        good[k] = pool.serve(rate, now, "pending" in active)
        billed[k], queue[k], ready[k] = pool.billed(tick), pool.queue, pool.ready
        if now + tick >= due:
            seen = pool.observation(now + tick)
            if active:
                seen = _spoiled(seen, active, now - min(f.start for f in faults if f.kind in active))
                if "restart" in active and restart is not None:
                    policy, restart = restart, None
            pool.resize(policy.desired(seen), now + tick)
            due = now + tick + policy.interval_seconds
        asked[k] = pool.asked
    return Run(tick, asked, ready, demand * tick, good, billed, queue)


class _Pool:
    """Held state of the fluid: ready and starting instances, the queue, and what the last tick did."""

    __slots__ = (
        "arrived",
        "capacity",
        "drained",
        "good",
        "load",
        "queue",
        "ready",
        "served",
        "setting",
        "starting",
        "waited",
    )

    def __init__(self, setting: Setting, first: int) -> None:
        self.setting = setting
        self.ready = first
        self.starting: deque[float] = deque()
        self.queue = 0.0
        self.drained = 0
        self.arrived = self.served = self.good = self.load = self.waited = 0.0

    @property
    def asked(self) -> int:
        return self.ready + len(self.starting)

    def serve(self, rate: float, now: float, pending: bool) -> float:
        """Let one tick pass; return how many of its arrivals are good."""
        setting = self.setting
        while self.starting and self.starting[0] <= now and not pending:
            self.starting.popleft()
            self.ready += 1
        tick, limit = setting.tick_seconds, setting.objective_seconds
        capacity = self.ready * setting.capacity
        arrived, before = rate * tick, self.queue
        after = max(0.0, before + arrived - capacity * tick)
        self.queue = after
        self.arrived, self.served = rate, (before + arrived - after) / tick
        self.load = self.served / capacity if capacity else 0.0
        first, last = (before / capacity, after / capacity) if capacity else (inf, inf)
        self.waited = 0.5 * (first + last)
        if first <= limit and last <= limit:
            share = 1.0
        elif first > limit and last > limit:
            share = 0.0
        else:
            share = abs(limit - first) / abs(last - first) if first <= limit else abs(last - limit) / abs(last - first)
        self.good = share * arrived
        return self.good

    def billed(self, tick: float) -> float:
        """Return the instances paid for in this tick, those that drain included."""
        held = self.asked + self.drained * min(1.0, self.setting.in_flight / self.setting.capacity / tick)
        self.drained = 0
        return held

    def observation(self, now: float) -> Observation:
        setting = self.setting
        service = setting.in_flight / setting.capacity * (0.5 + 0.5 * self.load)
        running = self.served * service
        each = running / self.ready if self.ready else 0.0
        held = setting.input_tokens + setting.output_tokens / 2
        arrived = self.arrived * setting.tick_seconds
        return Observation(
            seconds=now,
            asked=self.asked,
            ready=self.ready,
            starting=len(self.starting),
            arrival_rate=self.arrived,
            finish_rate=self.served,
            queue=self.queue,
            running=running,
            kv_usage_ratio=min(1.0, each * held / setting.kv_tokens),
            gpu_busy_ratio=1 - exp(-each),
            ttft_seconds=0.1 * setting.objective_seconds + self.waited,
            tpot_seconds=service / max(setting.output_tokens, 1.0),
            served=arrived,
            good=self.good,
            reporting=self.ready,
        )

    def resize(self, wanted: int, now: float) -> None:
        change = wanted - self.asked
        if change > 0:
            self.starting.extend([now + self.setting.cold_start_seconds] * change)
        while change < 0 and self.starting:
            self.starting.pop()
            change += 1
        if change < 0:
            self.ready += change
            self.drained -= change


def _spoiled(seen: Observation, kinds: list[str], since: float) -> Observation:
    """Return what a policy gets to see under faults; the truth goes on underneath."""
    from dataclasses import replace
    from math import nan

    if "gap" in kinds or "relabel" in kinds or "restart" in kinds:
        # Nothing is found under the known labels: no pages, no rates.
        return replace(
            seen,
            arrival_rate=nan,
            finish_rate=nan,
            queue=nan,
            running=nan,
            kv_usage_ratio=nan,
            gpu_busy_ratio=nan,
            ttft_seconds=nan,
            tpot_seconds=nan,
            served=nan,
            good=nan,
            reporting=0,
            age_seconds=since,
        )
    if "nan" in kinds:
        return replace(
            seen, arrival_rate=nan, queue=nan, running=nan, kv_usage_ratio=nan, gpu_busy_ratio=nan, age_seconds=0
        )
    if "reset" in kinds:  # counters start again: the increment of this interval is unknown
        return replace(seen, arrival_rate=nan, finish_rate=nan)
    if "stale_pod" in kinds:  # one pod repeats its last page
        return replace(seen, reporting=max(seen.reporting - 1, 0))
    return seen

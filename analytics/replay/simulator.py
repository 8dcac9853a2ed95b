"""Runs a fleet of engines on arrivals and lets a caller resize it as time goes; decides nothing about its size."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
import numpy.typing as npt

from analytics.replay import columns
from analytics.replay.arrivals import Arrivals
from analytics.replay.columns import Cluster, Requests
from analytics.replay.engine import Engine

ROUTING = ("round_robin", "least_busy", "two_choices", "affinity")


@dataclass(frozen=True, slots=True)
class Reading:
    """What the engines' pages would show now, and what came since the reading before."""

    seconds: float
    asked: int
    ready: int
    starting: int
    draining: int
    queue: float
    running: float
    kv_usage_ratio: float
    arrived: int
    first_tokens: int
    good: int


class Simulator:
    """Held state of one replay.

    `objective_seconds` only feeds the `good` counter of the readings. `pace` are factors on the step times, one per
    `pace_step_seconds`: how much slower than its median the recorded host was then (a shared host is not even).
    """

    def __init__(
        self,
        arrivals: Arrivals,
        engine: Engine,
        instances: int,
        largest: int,
        routing: str = "least_busy",
        prefill_instances: int = 0,
        objective_seconds: float = 2.0,
        pace: npt.NDArray[np.float64] | None = None,
        pace_step_seconds: float = 10.0,
    ) -> None:
        from analytics.replay import kernel

        self._kernel = kernel
        self._routing = ROUTING.index(routing)
        self._requests = _requests(arrivals)
        self._cluster = _cluster(engine, largest, prefill_instances, objective_seconds)
        if pace is not None:
            self._cluster = self._cluster._replace(pace=pace, pace_step=np.array([pace_step_seconds]))
        self._clock = 0.0
        self._capacity = engine.kv_tokens
        self._billed = 0.0
        self.resize(instances, 0.0, 0.0)
        for i in range(prefill_instances):
            self._cluster.prefill_only[i] = 1
        self._cluster.scalars[columns.SPLIT] = 1 if prefill_instances else 0
        self._before = np.zeros_like(self._cluster.scalars)

    def advance(self, until: float) -> None:
        """Run to `until` seconds; instances are billed from being asked for to being empty."""
        status = self._cluster.status
        held = int((status != columns.OFF).sum())
        self._kernel.advance(self._requests, self._cluster, self._routing, until)
        self._billed += held * (until - self._clock)
        stopped = self._cluster.stopped
        gone = stopped[(status == columns.OFF) & (stopped >= self._clock) & (stopped < until)]
        self._billed -= float((until - gone).sum())
        self._clock = until

    def finish(self, patience: float = 3600.0) -> None:
        """Run on without further arrivals until nothing is left, or patience ends."""
        end = self._clock + patience
        self._kernel.advance(self._requests, self._cluster, self._routing, end)

    def resize(self, wanted: int, now: float, cold_start_seconds: float) -> int:
        """Ask for `wanted` instances; return how many are asked for afterwards. The least busy go first."""
        cluster, kernel = self._cluster, self._kernel
        status = cluster.status
        wanted = min(wanted, len(status))
        asked = self.asked
        if wanted > asked:
            for i in np.flatnonzero(status == columns.DRAINING)[: wanted - asked]:
                status[i] = columns.READY
                asked += 1
            for i in np.flatnonzero(status == columns.OFF)[: wanted - asked]:
                kernel.wake(cluster, int(i), now + cold_start_seconds)
                asked += 1
            if cold_start_seconds == 0.0:
                kernel.advance(self._requests, cluster, self._routing, now)
        elif wanted < asked:
            live = np.flatnonzero((status == columns.READY) | (status == columns.STARTING))
            busy = cluster.decoding[live] + cluster.waiting[live] - 1_000_000 * (status[live] == columns.STARTING)
            for i in live[np.argsort(busy, kind="stable")][: asked - wanted]:
                kernel.drain(cluster, int(i), now)
                asked -= 1
        return asked

    def reading(self) -> Reading:
        """Return the state of now and the counters since the last reading."""
        cluster = self._cluster
        status = cluster.status
        ready = status == columns.READY
        live = ready | (status == columns.DRAINING)
        since = cluster.scalars - self._before
        self._before = np.array(cluster.scalars)
        used = float(cluster.kv[ready].mean()) / self._capacity if ready.any() else nan
        waiting = float(cluster.waiting[live].sum()) + self._unplaced()
        return Reading(
            seconds=self._clock,
            asked=int((ready | (status == columns.STARTING)).sum()),
            ready=int(ready.sum()),
            starting=int((status == columns.STARTING).sum()),
            draining=int((status == columns.DRAINING).sum()),
            queue=waiting,
            running=float(cluster.decoding[live].sum()),
            kv_usage_ratio=used,
            arrived=int(since[columns.ARRIVED]),
            first_tokens=int(since[columns.SERVED]),
            good=int(since[columns.GOOD]),
        )

    def _unplaced(self) -> int:
        waiting, count = int(self._cluster.scalars[columns.UNPLACED_HEAD]), 0
        while waiting >= 0:
            count += 1
            waiting = int(self._requests.following[waiting])
        return count

    @property
    def asked(self) -> int:
        """Instances that serve or start."""
        status = self._cluster.status
        return int(((status == columns.READY) | (status == columns.STARTING)).sum())

    @property
    def instance_seconds(self) -> float:
        return self._billed

    @property
    def preemptions(self) -> int:
        return int(self._cluster.scalars[columns.PREEMPTED])

    def ttft_seconds(self) -> npt.NDArray[np.float64]:
        """Return each request's time to first token; NaN where none came."""
        return self._requests.first - self._requests.arrival

    def e2e_seconds(self) -> npt.NDArray[np.float64]:
        """Return each request's whole time; NaN where unfinished, infinite where refused."""
        return self._requests.finished - self._requests.arrival

    def queue_seconds(self) -> npt.NDArray[np.float64]:
        """Return each request's wait for a seat; NaN where it never got one."""
        return self._requests.admitted - self._requests.arrival

    def instances_of(self) -> npt.NDArray[np.int64]:
        """Return the instance that served each request."""
        return self._requests.instance


def _requests(arrivals: Arrivals) -> Requests:
    count = len(arrivals)

    def unknown() -> npt.NDArray[np.float64]:
        return np.full(count, np.nan)

    def zero() -> npt.NDArray[np.int64]:
        return np.zeros(count, dtype=np.int64)

    return Requests(
        arrivals.seconds,
        arrivals.input_tokens,
        arrivals.output_tokens,
        arrivals.cached.copy(),
        arrivals.key,
        arrivals.shared,
        unknown(),
        unknown(),
        unknown(),
        zero() - 1,
        zero(),
        zero(),
        zero(),
        zero() - 1,
    )


def _cluster(engine: Engine, largest: int, prefill: int, objective: float) -> Cluster:
    def ints(*shape: int) -> npt.NDArray[np.int64]:
        return np.zeros(shape, dtype=np.int64)

    parameters = np.array(
        [
            engine.base_seconds,
            engine.per_prefill_token_seconds,
            engine.per_sequence_seconds,
            engine.per_kv_token_seconds,
            engine.per_attention_seconds,
            engine.token_budget,
            engine.seats,
            engine.kv_tokens,
            engine.tokens_per_step,
            engine.overhead_seconds,
            engine.cache_tokens,
            engine.transfer_seconds,
            engine.transfer_per_token_seconds,
        ],
        dtype=np.float64,
    )
    scalars = ints(11)
    scalars[columns.UNPLACED_HEAD] = -1
    slots = columns.SLOTS if engine.cache_tokens else 1
    transfers = 1_000_000 if prefill else 1
    return Cluster(
        engine=parameters,
        status=ints(largest),
        prefill_only=ints(largest),
        clock=np.zeros(largest),
        kind=ints(largest),
        event=np.full(largest, columns.NEVER),
        began=np.zeros(largest),
        planned=ints(largest),
        steps=ints(largest),
        decoding=ints(largest),
        kv=np.zeros(largest),
        head=ints(largest) - 1,
        tail=ints(largest) - 1,
        waiting=ints(largest),
        partial=ints(largest) - 1,
        done=ints(largest, engine.seats + 1),
        ready_count=ints(largest),
        due=ints(largest, engine.seats + 1),
        due_count=ints(largest),
        cache_key=ints(largest, slots) - 1,
        cache_tokens=ints(largest, slots),
        cached_total=ints(largest),
        hand=ints(largest),
        heap=np.arange(largest, dtype=np.int64),
        place=np.arange(largest, dtype=np.int64),
        size=np.array([largest], dtype=np.int64),
        stopped=np.full(largest, np.nan),
        scalars=scalars,
        moved_at=np.zeros(transfers),
        moved=ints(transfers),
        objective=np.array([objective]),
        pace=np.ones(1),
        pace_step=np.array([10.0]),
    )

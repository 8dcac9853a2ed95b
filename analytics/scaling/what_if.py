"""What one instance fewer or more would mean at the horizon; an estimate by queueing theory, never a promise."""

from __future__ import annotations

from math import inf, log, nan, sqrt

from analytics.scaling.decision import WhatIf
from analytics.scaling.need import safe_capacity
from analytics.scaling.state import PoolState, known


def what_if(state: PoolState, instances: int, demand: float) -> WhatIf | None:
    """Return the outcome with that many instances under `demand` requests per second; None below zero instances."""
    if instances < 0:
        return None
    rate = instances * safe_capacity(state.capacity)
    load = demand / rate if rate > 0 else (inf if demand > 0 else 0.0)
    ttft = tail_ttft_seconds(state, instances, load)
    within = ttft <= state.load.ttft_objective_seconds if known(ttft) else (False if load > 1 else None)
    return WhatIf(instances, load, ttft, within, state.pool.cost_per_hour(instances))


def tail_ttft_seconds(state: PoolState, instances: int, load: float) -> float:
    """Return P99 TTFT: today's tail without a queue plus the P99 wait.

    Below saturation the wait is Sakasegawa's approximation of M/M/c with one server per request that an instance
    holds, times ln 100 for the tail of an exponential. Above it, the backlog that grows during one cold start.
    """
    base = state.load.ttft_seconds
    seats = state.capacity.in_flight if known(state.capacity.in_flight) else 1.0
    if not known(base):
        base = nan
    elif known(state.load.queue) and state.load.queue > 0:
        base = min(base, 0.5 * state.load.ttft_objective_seconds)
    if load >= 1:
        return base + (load - 1) * state.cold_start.p95
    servers = max(1.0, instances * seats)
    service = seats / state.capacity.value if state.capacity.value > 0 else nan
    mean_wait = service * float(load ** sqrt(2 * (servers + 1))) / (servers * (1 - load))
    return base + mean_wait * log(100)

"""A healthy pool for tests: ten instances of 10 req/s that serve 80 req/s; tests change what they are about."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from analytics.scaling import (
    Capacity,
    ColdStart,
    Demand,
    Load,
    Memory,
    Pool,
    PoolState,
    Sight,
)

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
POOL = Pool("chat", "llama", region="eu", gpus_per_instance=2, usd_per_gpu_hour=3.0)


def demand(rate: float) -> Demand:
    """Return demand that is equally certain at every quantile."""
    return Demand(rate, rate, rate, rate, rate, rate, basis="test")


def healthy(rate: float = 80.0, instances: int = 10, **changes: object) -> PoolState:
    """Return a state in which nothing is wrong, with some fields changed."""
    state = PoolState(
        pool=POOL,
        current=instances,
        ready=instances,
        demand=demand(rate),
        capacity=Capacity(10.0, 9.5, 10.5, "frontier", 1000, 20.0),
        cold_start=ColdStart(100.0, 180.0, 30, "measured on 30 start-ups"),
        load=Load(queue=0.0, running=100.0, kv_usage_ratio=0.4, ttft_seconds=0.3, ttft_before_seconds=0.3),
        sight=Sight(NOW, instances, instances),
        memory=watched(int(rate // 10)),
    )
    return replace(state, **changes)  # type: ignore[arg-type]  # tests name real fields


def watched(need: int, seconds: float = 3600.0) -> Memory:
    """Return the memory of a pool whose need has been `need` for a long time."""
    since = NOW - timedelta(seconds=seconds)
    return Memory(((NOW - timedelta(seconds=30), need),), since)

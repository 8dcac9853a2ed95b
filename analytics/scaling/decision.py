"""A scaling decision that explains itself; carries what it was based on, never changes anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from math import isfinite, nan
from typing import Literal

from analytics.scaling.state import Capacity, ColdStart, Memory

Action = Literal["up", "down", "hold", "hold_blind", "pinned"]
Binding = Literal["queue", "kv", "ttft_trend", "forecast", "standby", "budget", "n_minus_1", "stale_data"]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One instance fewer or more: the load factor at the horizon, the wait it means, and whether that is within."""

    instances: int
    utilisation: float
    p99_ttft_seconds: float
    within_objective: bool | None
    cost_per_hour: float | None

    def to_dict(self) -> dict[str, object]:
        return {
            "instances": self.instances,
            "utilisation": _number(self.utilisation),
            "p99_ttft_seconds": _number(self.p99_ttft_seconds),
            "within_objective": self.within_objective,
            "cost_per_hour": self.cost_per_hour,
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """What a pool should have, why, and how sure that is; shaped like one entry of `recommendations`."""

    pool: str
    model: str
    role: str
    region: str | None
    current: int
    actual: int
    unschedulable: int
    proposed: int
    need: int
    #: The need without what passes (a backlog, a rising tail): what the calm window remembers.
    lasting_need: int
    action: Action
    binding: Binding
    because: tuple[str, ...]
    forecast_horizon_seconds: float
    cold_start: ColdStart
    demand_now: float
    demand_q50: float
    demand_q90: float
    #: The demand that is planned for, and how much of it lies above the median: the burst reserve. NaN while blind.
    demand_served: float
    reserve: float
    demand_basis: str
    capacity: Capacity
    needs: Mapping[str, float]
    minus_1: WhatIf | None
    plus_1: WhatIf | None
    cost_current: float | None
    cost_proposed: float | None
    confidence: float
    decided_at: datetime
    valid_until: datetime
    memory: Memory
    #: Normal score of the demand quantile that was served; NaN before the first.
    headroom_score: float = nan
    advice: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()

    @property
    def cold_start_seconds(self) -> float:
        """P95 of the cold start."""
        return self.cold_start.p95

    def to_dict(self) -> dict[str, object]:
        """Return the decision as plain JSON values (NaN becomes None, times RFC 3339)."""
        return {
            "pool": self.pool,
            "model": self.model,
            "role": self.role,
            "region": self.region,
            "current": self.current,
            "actual": self.actual,
            "unschedulable": self.unschedulable,
            "proposed": self.proposed,
            "need": self.need,
            "lasting_need": self.lasting_need,
            "action": self.action,
            "because": list(self.because),
            "binding": self.binding,
            "forecast_horizon_seconds": _number(self.forecast_horizon_seconds),
            "cold_start_seconds": _number(self.cold_start_seconds),
            "cold_start_from": self.cold_start.origin,
            "cold_start": self.cold_start.to_dict(),
            "demand": {
                "now": _number(self.demand_now),
                "q50": _number(self.demand_q50),
                "q90": _number(self.demand_q90),
                "served": _number(self.demand_served),
                "reserve": _number(self.reserve),
                "basis": self.demand_basis,
                "unit": "requests per second",
            },
            "capacity_per_instance": {
                "value": _number(self.capacity.value),
                "interval": [_number(self.capacity.low), _number(self.capacity.high)],
                "from": self.capacity.origin,
                "windows": self.capacity.windows,
                "by_length": self._by_length(),
                "unit": "requests per second",
            },
            "headroom_score": _number(self.headroom_score),
            "needs": {name: _number(value) for name, value in self.needs.items()},
            "what_if": {
                "minus_1": self.minus_1.to_dict() if self.minus_1 else None,
                "plus_1": self.plus_1.to_dict() if self.plus_1 else None,
            },
            "cost_per_hour": {"current": self.cost_current, "proposed": self.cost_proposed},
            "confidence": round(self.confidence, 3),
            "decided_at": _moment(self.decided_at),
            "valid_until": _moment(self.valid_until),
            "advice": list(self.advice),
            "victims": list(self.victims),
        }

    def _by_length(self) -> dict[str, object] | None:
        """Return what the lengths at the horizon do to capacity, with the instance seconds that each bucket costs."""
        mix = self.capacity.mix
        if mix is None:
            return None
        learned = self.capacity.value / mix.planned
        return {
            "applied": mix.applied,
            "because": mix.because,
            "factor": _number(mix.planned),
            "interval": [_number(mix.low), _number(mix.high)],
            "buckets": [
                {
                    "length_bucket": one.name,
                    "requests": one.requests,
                    "seconds_per_request": _number(work / learned) if learned > 0 else None,
                    "learned_share": _number(one.learned_share),
                    "horizon_share": _number(one.horizon_share),
                }
                for one, work in zip(mix.buckets, mix.work, strict=True)
            ],
        }


def _number(value: float) -> float | None:
    return round(value, 6) if isfinite(value) else None


def _moment(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")

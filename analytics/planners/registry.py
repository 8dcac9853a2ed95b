"""Every planner by name; adding one is one import and one line here."""

from __future__ import annotations

from analytics.planners import (
    autoscaling,
    gateway,
    kv_pool,
    long_context,
    moe_service,
    multi_lora,
    multi_region,
    rl_rollout,
    speculation,
    structured_output,
)
from analytics.planners.planner import Planner
from signals.errors import UnknownNameError

__all__ = ["PLANNERS", "get", "names"]

PLANNERS: dict[str, Planner] = {
    "moe_service": moe_service.PLANNER,
    "kv_pool": kv_pool.PLANNER,
    "gateway": gateway.PLANNER,
    "multi_lora": multi_lora.PLANNER,
    "rl_rollout": rl_rollout.PLANNER,
    "long_context": long_context.PLANNER,
    "speculation": speculation.PLANNER,
    "structured_output": structured_output.PLANNER,
    "autoscaling": autoscaling.PLANNER,
    "multi_region": multi_region.PLANNER,
}


def names() -> tuple[str, ...]:
    """Return the planner ids in the order of the documentation."""
    return tuple(PLANNERS)


def get(name: str) -> Planner:
    """Return the planner `name`, or raise UnknownNameError with the nearest one.

    >>> get("autoscaling").plan().number("standby_instances")
    2.0
    """
    if name not in PLANNERS:
        raise UnknownNameError("planner", name, PLANNERS)
    return PLANNERS[name]

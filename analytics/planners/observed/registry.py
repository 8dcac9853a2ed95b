"""What telemetry gives each planner, by the planner's name; one observer a file, one line here."""

from __future__ import annotations

from analytics.planners.observed import (
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
from analytics.planners.observed.measures import Observer

__all__ = ["OBSERVERS"]

OBSERVERS: dict[str, Observer] = {
    "moe_service": moe_service.OBSERVER,
    "kv_pool": kv_pool.OBSERVER,
    "gateway": gateway.OBSERVER,
    "multi_lora": multi_lora.OBSERVER,
    "rl_rollout": rl_rollout.OBSERVER,
    "long_context": long_context.OBSERVER,
    "speculation": speculation.OBSERVER,
    "structured_output": structured_output.OBSERVER,
    "autoscaling": autoscaling.OBSERVER,
    "multi_region": multi_region.OBSERVER,
}

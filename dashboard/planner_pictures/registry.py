"""The picture of each planner by its name; one picture a file, one line here."""

from __future__ import annotations

from collections.abc import Callable

from analytics.planners import Plan
from dashboard.planner_pictures import (
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
from dashboard.planner_pictures.frame import Chart

__all__ = ["PICTURES"]

PICTURES: dict[str, Callable[[Plan], Chart]] = {
    "moe_service": moe_service.picture,
    "kv_pool": kv_pool.picture,
    "gateway": gateway.picture,
    "multi_lora": multi_lora.picture,
    "rl_rollout": rl_rollout.picture,
    "long_context": long_context.picture,
    "speculation": speculation.picture,
    "structured_output": structured_output.picture,
    "autoscaling": autoscaling.picture,
    "multi_region": multi_region.picture,
}

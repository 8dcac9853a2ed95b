"""What telemetry says of speculation: acceptance, draft cost, step time by tokens, the control group."""

from __future__ import annotations

from analytics.planners.observed.acceptance import (
    acceptance_by_domain,
    acceptance_rate,
    draft_cost,
    draft_tokens,
    group_effect,
    group_tpot,
    step_base,
    step_slope,
)
from analytics.planners.observed.measures import Observer, table

__all__ = ["OBSERVER"]

OBSERVER = Observer(
    planner="speculation",
    queries=("plan_engine_blocks", "plan_signal_blocks", "plan_spec_groups", "plan_spec_domains", "plan_spec_versions"),
    measures={
        "draft_cost_ratio": draft_cost,
        "acceptance_rate": acceptance_rate,
        "draft_tokens": draft_tokens,
        "step_base_seconds": step_base,
        "step_seconds_per_token": step_slope,
        "acceptance_by_domain": acceptance_by_domain,
        "on_tpot_seconds": group_tpot("on"),
        "off_tpot_seconds": group_tpot("off"),
        "observed_speedup": group_effect,
        "accepted_per_step_by_group": table("plan_spec_versions", "version", "accepted_per_step", "by model version"),
        "draft_tokens_by_group": table("plan_spec_versions", "version", "draft_tokens", "by model version"),
    },
)

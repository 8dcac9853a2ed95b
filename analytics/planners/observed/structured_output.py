"""What telemetry says of constrained decoding: step and mask time, schema cache, broken formats."""

from __future__ import annotations

import numpy as np

from analytics.planners.form import Estimate, PlannerInputs
from analytics.planners.observed.intervals import ratio_of_sums
from analytics.planners.observed.measures import Observer, mean_rate, request_ratio, signal_ratio
from analytics.planners.observed.telemetry import Telemetry, by_block, total

__all__ = ["OBSERVER"]


def _mask_seconds(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    masks = by_block(telemetry, "plan_signal_blocks", "value", signal="grammar_masks")
    seconds = by_block(telemetry, "plan_signal_blocks", "value", signal="grammar_mask_seconds")
    return ratio_of_sums(seconds, masks, f"mask seconds of {total(masks):,.0f} masks")


def _compile_seconds(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    asked, found = (
        by_block(telemetry, "plan_signal_blocks", "value", signal=signal)
        for signal in ("grammar_requests", "grammar_cache_hits")
    )
    compiled = asked - np.nan_to_num(found)
    seconds = by_block(telemetry, "plan_engine_blocks", "grammar_seconds")
    return ratio_of_sums(seconds, compiled, f"compile seconds of {total(compiled):,.0f} grammars not found compiled")


def _batch(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    masks = by_block(telemetry, "plan_signal_blocks", "value", signal="grammar_masks")
    steps = by_block(telemetry, "plan_engine_blocks", "steps")
    return ratio_of_sums(masks, steps, f"masks / {total(steps):,.0f} steps")


OBSERVER = Observer(
    planner="structured_output",
    queries=("plan_request_blocks", "plan_engine_blocks", "plan_signal_blocks"),
    measures={
        "step_seconds": request_ratio("step_seconds", "steps", "mean", "plan_engine_blocks"),
        "mask_seconds": _mask_seconds,
        "batch_in_use": _batch,
        "compile_seconds": _compile_seconds,
        "schema_cache_hit_ratio": signal_ratio("grammar_cache_hits", "grammar_requests"),
        "structured_requests_per_second": mean_rate("structured"),
        "format_error_ratio": signal_ratio("format_error_retries", "structured_requests"),
        "mean_request_seconds": request_ratio("structured_seconds", "structured_rows", "mean of constrained requests"),
    },
)

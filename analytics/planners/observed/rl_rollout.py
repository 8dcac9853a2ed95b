"""What telemetry says of rollout: samples of a step, answer lengths, utilisation, weight pushes, scoring."""

from __future__ import annotations

import numpy as np

from analytics.planners.form import Estimate, PlannerInputs
from analytics.planners.observed.measures import (
    Observer,
    first_of,
    histogram_mean,
    request_ratio,
    signal_mean,
    signal_ratio,
    throughput,
)
from analytics.planners.observed.telemetry import Telemetry, column

__all__ = ["OBSERVER"]

_PERCENTILES = ("0", "10", "25", "50", "75", "90", "95", "99", "100")


def _lengths(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    found = telemetry.get("plan_output_percentiles", {}).get("tokens")
    count = column(telemetry, "plan_output_percentiles", "requests")
    if found is None or not len(found) or found[0] is None or count[0] < 100:
        return None
    values = np.asarray(found[0], dtype=np.float64)
    pairs = tuple((level, max(1.0, float(each))) for level, each in zip(_PERCENTILES, values, strict=True))
    return Estimate(pairs, None, None, f"{count[0]:,.0f} answers")


OBSERVER = Observer(
    planner="rl_rollout",
    queries=(
        "plan_request_blocks",
        "plan_arrival_blocks",
        "plan_engine_blocks",
        "plan_signal_blocks",
        "plan_histogram_blocks",
        "plan_output_percentiles",
    ),
    measures={
        "prompts_per_step": signal_mean("rollout_prompts_per_step"),
        "samples_per_prompt": signal_mean("rollout_samples_per_prompt"),
        "mean_output_tokens": request_ratio("output_tokens", "output_rows", "mean"),
        "train_step_seconds": first_of(
            (
                signal_ratio("train_step_seconds_sum", "train_step_seconds_count"),
                histogram_mean("train_step_seconds"),
            )
        ),
        "tokens_per_gpu_second": throughput("busy_generation_tokens", "busy_gpu_seconds"),
        "sync_utilisation": signal_mean("rollout_utilisation_ratio", "sync"),
        "async_utilisation": signal_mean("rollout_utilisation_ratio", "async"),
        "weight_bytes": signal_ratio("weight_sync_bytes", "weight_sync_seconds_count"),
        "sync_bytes_per_second": signal_ratio("weight_sync_bytes", "weight_sync_seconds_sum"),
        "output_tokens_at": _lengths,
        "scoring_seconds": first_of(
            (
                signal_ratio("rollout_scoring_seconds_sum", "rollout_scoring_seconds_count"),
                histogram_mean("rollout_scoring_seconds"),
            )
        ),
        "scoring_timeout_ratio": signal_ratio("rollout_scoring_timeouts", "rollout_scoring_seconds_count"),
        "observed_staleness_steps": signal_mean("rollout_staleness_steps"),
    },
)

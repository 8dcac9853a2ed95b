"""What telemetry says of very long prompts: lengths, arrivals, documents asked about, how fast they prefill."""

from __future__ import annotations

import numpy as np

from analytics.planners.form import Estimate, PlannerInputs
from analytics.planners.observed.intervals import ratio_of_sums
from analytics.planners.observed.kv_pool import DISK_TIERS, read_rate
from analytics.planners.observed.measures import Observer, common_instance, request_ratio, signal_mean
from analytics.planners.observed.telemetry import BLOCKS, Telemetry, by_block, column, total

__all__ = ["OBSERVER"]

_LONG = "plan_long_blocks"


def _rate(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    counts = np.nan_to_num(by_block(telemetry, _LONG, "requests"))
    seconds = column(telemetry, "plan_request_blocks", "block_seconds")
    if not len(seconds) or counts.sum() == 0:
        return None
    return ratio_of_sums(counts, np.full(BLOCKS, float(seconds[0])), f"{counts.sum():,.0f} prompts from 64k up")


def _mfu(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
    """Measure flops of dense prefill over flops there are while it runs, with the model and GPU given."""
    tokens, squares = (by_block(telemetry, _LONG, name) for name in ("prefilled_tokens", "prefilled_squares"))
    active, layers, pair, gpus, flops = (
        float(getattr(inputs, name))
        for name in ("active_parameters", "layers", "dense_flops_per_pair", "gpus", "gpu_flops")
    )
    needed = 2 * active * tokens + squares / 2 * layers * pair
    seconds = by_block(telemetry, _LONG, "prefill_seconds")
    return ratio_of_sums(
        needed, seconds * gpus * flops, f"{total(tokens):,.0f} tokens prefilled; model and GPU as given"
    )


OBSERVER = Observer(
    planner="long_context",
    queries=("plan_request_blocks", _LONG, "plan_signal_blocks", "plan_instances"),
    measures={
        "context_tokens": request_ratio("input_tokens", "requests", "mean of prompts from 64k up", _LONG),
        "kv_bytes_per_token_mla": signal_mean("kv_bytes_per_token"),
        "gpus": common_instance("gpu_count"),
        "mfu": _mfu,
        "long_requests_per_second": _rate,
        "document_tokens": request_ratio("document_tokens", "documents", "mean of first turns", _LONG),
        "question_tokens": request_ratio("question_tokens", "questions", "prompt less cached, later turns", _LONG),
        "questions_per_document": request_ratio("turns", "documents", "turns per session", _LONG),
        "store_read_bytes_per_second": read_rate(DISK_TIERS),
    },
)

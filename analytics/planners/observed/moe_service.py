"""What telemetry says of a split mixture-of-experts service: demand, capacity per GPU by role, units, the day."""

from __future__ import annotations

import numpy as np

from analytics.planners.form import Estimate, PlannerInputs
from analytics.planners.observed.measures import (
    Observer,
    common_instance,
    first_of,
    hourly,
    peak_rate,
    per_machine,
    request_ratio,
    signal_mean,
    signal_ratio,
    table,
    throughput,
)
from analytics.planners.observed.telemetry import Telemetry, column, texts

__all__ = ["OBSERVER"]


def _load_by_hour(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    rates = hourly(telemetry)
    if np.isfinite(rates).sum() < 24 or np.nanmax(rates) <= 0:
        return None
    shares = tuple(float(each) for each in rates / np.nanmax(rates))
    return Estimate(shares, None, None, "mean day by UTC hour")


def _bucket_shares(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    names, counts = (
        texts(telemetry, "plan_length_buckets", "bucket"),
        column(telemetry, "plan_length_buckets", "requests"),
    )
    if not len(counts) or counts.sum() <= 0:
        return None
    pairs = tuple((str(name), float(each / counts.sum())) for name, each in zip(names, counts, strict=True))
    return Estimate(pairs, None, None, f"{counts.sum():,.0f} requests")


OBSERVER = Observer(
    planner="moe_service",
    queries=(
        "plan_request_blocks",
        "plan_arrival_blocks",
        "plan_arrival_counts",
        "plan_engine_blocks",
        "plan_signal_blocks",
        "plan_instances",
        "plan_length_buckets",
        "plan_hours",
    ),
    measures={
        "peak_requests_per_second": peak_rate,
        "input_tokens": request_ratio("input_tokens", "input_rows", "mean"),
        "output_tokens": request_ratio("output_tokens", "output_rows", "mean"),
        "prefix_hit_ratio": first_of(
            (
                request_ratio("cached_tokens", "cacheable_tokens", "cached / prompt tokens"),
                request_ratio("prefix_hit_tokens", "prefix_query_tokens", "hits / queries", "plan_engine_blocks"),
            )
        ),
        "prefill_tokens_per_gpu_second": throughput("busy_computed_tokens", "busy_gpu_seconds", "prefill"),
        "output_tokens_per_gpu_second": throughput("busy_generation_tokens", "busy_gpu_seconds", "decode"),
        "prefill_unit_gpus": common_instance("gpu_count", "prefill"),
        "decode_unit_gpus": common_instance("gpu_count", "decode"),
        "tpot_seconds": request_ratio("decode_seconds", "decode_tokens", "decode time / tokens after the first"),
        "kv_bytes_per_token": signal_mean("kv_bytes_per_token"),
        "gpus_per_machine": per_machine,
        "expert_balance_ratio": first_of(
            (signal_mean("expert_balance_ratio"), signal_ratio("expert_balance_sum", "expert_balance_count"))
        ),
        "load_ratio_by_hour": _load_by_hour,
        "request_ratio_by_bucket": _bucket_shares,
        "input_tokens_by_bucket": table("plan_length_buckets", "bucket", "input_tokens", "mean by bucket"),
        "output_tokens_by_bucket": table("plan_length_buckets", "bucket", "output_tokens", "mean by bucket"),
    },
)

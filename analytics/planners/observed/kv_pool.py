"""What telemetry says of a tiered KV pool: session size, tiers, read-back rates, how soon sessions come back."""

from __future__ import annotations

import numpy as np

from analytics.planners.form import Estimate, PlannerInputs
from analytics.planners.observed import reuse
from analytics.planners.observed.intervals import exactly, ratio_of_sums
from analytics.planners.observed.measures import (
    Observer,
    first_of,
    mean_rate,
    per_machine,
    request_ratio,
    signal_mean,
    signal_ratio,
)
from analytics.planners.observed.telemetry import Telemetry, by_block, column, texts, total

__all__ = ["OBSERVER"]


def _machines(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    hosts = {host for host in texts(telemetry, "plan_instances", "host") if host}
    return exactly(len(hosts), "hosts with instances") if hosts else None


def _gpu_bytes(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
    per_token = signal_mean("kv_bytes_per_token")(telemetry, inputs)
    tokens, gpus = (column(telemetry, "plan_instances", name) for name in ("kv_capacity_tokens", "gpu_count"))
    held = np.isfinite(tokens) & np.isfinite(gpus)
    if per_token is None or isinstance(per_token.value, tuple) or not held.any():
        return None
    per_gpu = float(tokens[held].sum() / gpus[held].sum())
    bounds = ((per_token.low or per_token.value) * per_gpu, (per_token.high or per_token.value) * per_gpu)
    return Estimate(per_token.value * per_gpu, *bounds, "KV capacity of instances x KV per token / GPUs")


def _mfu(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
    """Measure flops that prefill needs over flops there are while it runs, with the model and GPU given."""
    tokens = by_block(telemetry, "plan_request_blocks", "prefilled_tokens")
    seconds = by_block(telemetry, "plan_request_blocks", "prefill_seconds")
    parameters, flops, gpus = (
        float(getattr(inputs, name)) for name in ("model_parameters", "gpu_flops", "gpus_per_machine")
    )
    return ratio_of_sums(
        tokens * 2 * parameters,
        seconds * flops * gpus,
        f"{total(tokens):,.0f} tokens prefilled; model and GPU as given",
    )


OBSERVER = Observer(
    planner="kv_pool",
    queries=("plan_request_blocks", "plan_signal_blocks", "plan_instances", *reuse.QUERIES),
    measures={
        "kv_bytes_per_token": signal_mean("kv_bytes_per_token"),
        "machines": _machines,
        "gpus_per_machine": per_machine,
        "context_tokens": request_ratio("context_tokens", "context_rows", "mean of prompt and answer"),
        "gpu_kv_bytes_per_gpu": _gpu_bytes,
        "memory_bytes_per_machine": signal_mean("kv_tier_capacity_bytes", "memory"),
        "memory_read_bytes_per_second": signal_ratio("kv_tier_readback_bytes", "kv_tier_readback_seconds", "memory"),
        "ssd_bytes_per_machine": signal_mean("kv_tier_capacity_bytes", "ssd"),
        "ssd_read_bytes_per_second": signal_ratio("kv_tier_readback_bytes", "kv_tier_readback_seconds", "ssd"),
        "mfu": _mfu,
        "turns_per_second": mean_rate(),
        "first_turn_ratio": first_of((request_ratio("first_turns", "turn_rows", "turn numbers"), reuse.first_turns)),
        "first_return_ratio": reuse.return_ratio("first"),
        "later_return_ratio": reuse.return_ratio("later"),
        "first_return_seconds": reuse.return_seconds("first"),
        "later_return_seconds": reuse.return_seconds("later"),
    },
)

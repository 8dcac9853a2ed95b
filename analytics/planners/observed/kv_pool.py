"""What telemetry says of a tiered KV pool: session size, tiers, read-back rates, how soon sessions come back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analytics.planners.form import Estimate, PlannerInputs
from analytics.planners.observed import reuse
from analytics.planners.observed.intervals import exactly, ratio_of_sums
from analytics.planners.observed.measures import (
    Measure,
    Observer,
    first_of,
    mean_rate,
    per_machine,
    request_ratio,
    scaled,
    signal_mean,
    signal_ratio,
)
from analytics.planners.observed.telemetry import Telemetry, by_block, instance_texts, instances, total

__all__ = ["DISK_TIERS", "MEMORY_TIERS", "OBSERVER", "read_rate"]

#: What engines call host memory and local drives.
MEMORY_TIERS = ("host", "memory", "cpu")
DISK_TIERS = ("disk", "storage", "ssd")


def read_rate(tiers: Sequence[str]) -> Measure:
    """Measure bytes a second read back from a tier: its byte counter, else its tokens x KV per token, over the time."""

    def from_tokens(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
        per_token = signal_mean("kv_bytes_per_token")(telemetry, inputs)
        if per_token is None or isinstance(per_token.value, tuple):
            return None
        rates = first_of([signal_ratio("kv_tier_read_tokens", "kv_tier_read_seconds_sum", tier) for tier in tiers])
        return scaled(rates, per_token.value, "kv_tier_read_tokens x KV per token / time")(telemetry, inputs)

    counted = [signal_ratio("kv_tier_read_bytes", "kv_tier_read_seconds_sum", tier) for tier in tiers]
    return first_of([*counted, from_tokens])


def _machines(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    hosts = {host for host in instance_texts(telemetry, "host") if host}
    return exactly(len(hosts), "hosts with instances") if hosts else None


def _gpu_bytes(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
    per_token = signal_mean("kv_bytes_per_token")(telemetry, inputs)
    tokens, gpus = (instances(telemetry, name) for name in ("kv_capacity_tokens", "gpu_count"))
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
        "memory_bytes_per_machine": first_of([signal_mean("kv_tier_capacity_bytes", tier) for tier in MEMORY_TIERS]),
        "memory_read_bytes_per_second": read_rate(MEMORY_TIERS),
        "ssd_bytes_per_machine": first_of([signal_mean("kv_tier_capacity_bytes", tier) for tier in DISK_TIERS]),
        "ssd_read_bytes_per_second": read_rate(DISK_TIERS),
        "observed_hit_ratio": request_ratio("cached_tokens", "cacheable_tokens", "cached / prompt tokens"),
        "mfu": _mfu,
        "turns_per_second": mean_rate(),
        "first_turn_ratio": first_of((request_ratio("first_turns", "turn_rows", "turn numbers"), reuse.first_turns)),
        "first_return_ratio": reuse.return_ratio("first"),
        "later_return_ratio": reuse.return_ratio("later"),
        "first_return_seconds": reuse.return_seconds("first"),
        "later_return_seconds": reuse.return_seconds("later"),
    },
)

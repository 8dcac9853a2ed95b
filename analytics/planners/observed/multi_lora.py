"""What telemetry says of adapters: how many, how popular, how many in a batch, swaps and tenants' tokens."""

from __future__ import annotations

from analytics.planners.observed.measures import (
    Observer,
    listed,
    peak_rate,
    request_ratio,
    signal_mean,
    signal_ratio,
    table,
)
from analytics.planners.observed.popularity import popularity_exponent

__all__ = ["OBSERVER"]

OBSERVER = Observer(
    planner="multi_lora",
    queries=(
        "plan_request_blocks",
        "plan_arrival_counts",
        "plan_engine_blocks",
        "plan_signal_blocks",
        "plan_adapters",
        "plan_tenants",
    ),
    measures={
        "adapters": signal_mean("adapters_registered"),
        "gpu_bytes_for_adapters": signal_mean("adapter_pool_bytes"),
        "pcie_bytes_per_second": signal_ratio("adapter_swap_bytes", "adapter_swap_seconds_sum"),
        "batch_requests": request_ratio("running_steps", "steps", "running requests by step", "plan_engine_blocks"),
        "distinct_adapters": listed(signal_mean("adapters_per_batch")),
        "popularity_exponent": popularity_exponent,
        "requests_per_second": peak_rate,
        "store_bytes_per_second": signal_ratio("adapter_download_bytes", "adapter_download_seconds_sum"),
        "tokens_per_day": table("plan_tenants", "tenant", "tokens_per_day", "prompt and answer tokens by tenant"),
    },
)

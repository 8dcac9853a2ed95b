"""What telemetry says of regions: how many, their peaks and capacity, who may move, how fast models are copied."""

from __future__ import annotations

from analytics.planners.observed import regions
from analytics.planners.observed.measures import Observer, cold_start, request_ratio, signal_ratio

__all__ = ["OBSERVER"]

OBSERVER = Observer(
    planner="multi_region",
    queries=(
        "plan_request_blocks",
        "plan_engine_blocks",
        "plan_signal_blocks",
        "plan_instances",
        "plan_hours",
        "plan_residency",
    ),
    measures={
        "model_bytes": signal_ratio("model_copy_bytes", "model_copy_seconds_count"),
        "regions": regions.count,
        "link_bytes_per_second": signal_ratio("model_copy_bytes", "model_copy_seconds_sum"),
        "region_capacity": regions.capacities,
        "region_peak": regions.peaks,
        "region_peak_utc_hour": regions.peak_hours,
        "resident_ratio": regions.resident,
        "trough_ratio": regions.trough,
        "deferrable_ratio": request_ratio("deferrable", "class_rows", "requests by class"),
        "scale_up_seconds": cold_start,
    },
)

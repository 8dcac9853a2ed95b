"""What telemetry says of scaling: peak, latency, one instance's rate, cold starts by phase, growth, concurrency."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np

from analytics.planners.form import Estimate, PlannerInputs
from analytics.planners.observed.intervals import CONFIDENCE, ratio_of_sums
from analytics.planners.observed.measures import (
    Observer,
    cold_start,
    first_of,
    mean_rate,
    peak_rate,
    request_ratio,
    signal_mean,
    signal_ratio,
    throughput,
)
from analytics.planners.observed.telemetry import Floats, Telemetry, by_block, column

__all__ = ["OBSERVER"]

_PERCENTILES = (50, 90, 99, 99.9)
#: A window with fewer arrivals says nothing of growth.
_LEAST_ARRIVALS = 30


def _growths(telemetry: Telemetry) -> Floats:
    """Return growth from each five minutes to the next, where both hold enough arrivals."""
    starts = column(telemetry, "plan_arrival_counts", "five_minutes")
    counts = column(telemetry, "plan_arrival_counts", "arrivals")
    if len(starts) < 4:
        return np.zeros(0)
    starts, counts = starts[1:-1], counts[1:-1]
    held = (np.diff(starts) == 1) & (counts[:-1] >= _LEAST_ARRIVALS)
    return np.sort(counts[1:][held] / counts[:-1][held] - 1)


def _growth(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
    """Measure growth at the burst quantile, with the interval of an order statistic."""
    growths = _growths(telemetry)
    level = float(getattr(inputs, "burst_quantile", 0.99))
    if len(growths) < 12:
        return None
    spread = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * sqrt(len(growths) * level * (1 - level))
    low, middle, high = (
        float(max(0.0, growths[int(np.clip(round(len(growths) * level + shift), 0, len(growths) - 1))]))
        for shift in (-spread, 0, spread)
    )
    return Estimate(middle, low, high, f"{len(growths):,} five-minute windows, chance variation included")


def _growth_table(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    growths = _growths(telemetry)
    if len(growths) < 12:
        return None
    pairs = tuple((f"{level:g}", float(max(0.0, np.percentile(growths, level)))) for level in _PERCENTILES)
    return Estimate(pairs, None, None, f"{len(growths):,} five-minute windows, chance variation included")


def _concurrency(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure requests running and waiting, all instances together."""
    inside = by_block(telemetry, "plan_engine_blocks", "request_seconds")
    seconds = by_block(telemetry, "plan_engine_blocks", "instance_seconds")
    instances = by_block(telemetry, "plan_engine_blocks", "instances")
    return ratio_of_sums(inside, seconds / instances, "running and waiting over all instances")


OBSERVER = Observer(
    planner="autoscaling",
    queries=(
        "plan_request_blocks",
        "plan_arrival_counts",
        "plan_engine_blocks",
        "plan_signal_blocks",
        "plan_instances",
    ),
    measures={
        "weight_bytes": signal_ratio("weight_load_bytes", "weight_load_seconds_count"),
        "object_store_bytes_per_second": signal_ratio("weight_load_bytes", "weight_load_seconds_sum", "object_store"),
        "nvme_bytes_per_second": signal_ratio("weight_load_bytes", "weight_load_seconds_sum", "nvme"),
        "rdma_bytes_per_second": signal_ratio("weight_load_bytes", "weight_load_seconds_sum", "rdma"),
        "requests_per_second": peak_rate,
        "observed_requests_per_second": mean_rate(),
        "mean_latency_seconds": request_ratio("e2e_seconds", "e2e_rows", "mean"),
        "requests_per_second_per_instance": throughput("busy_finished", "busy_seconds"),
        "traffic_growth_ratio": _growth,
        "cold_start_seconds": first_of(
            (cold_start, signal_ratio("instance_start_seconds_sum", "instance_start_seconds_count"))
        ),
        "process_start_seconds": signal_mean("startup_phase_seconds", "process_start"),
        "compile_seconds": signal_mean("startup_phase_seconds", "compile"),
        "compile_cached_seconds": signal_mean("startup_phase_seconds", "compile_cached"),
        "growth_at": _growth_table,
        "observed_concurrency": _concurrency,
    },
)

"""What telemetry says of a gateway: traffic, index size, hotspots, failures, its own time."""

from __future__ import annotations

import numpy as np

from analytics.planners.form import Estimate, PlannerInputs
from analytics.planners.observed.intervals import exactly, largest_share, mean_of, poisson_rate, ratio_of_sums, share_of
from analytics.planners.observed.measures import (
    Observer,
    common_instance,
    first_of,
    histogram_mean,
    peak_rate,
    request_ratio,
    signal_mean,
    signal_ratio,
)
from analytics.planners.observed.telemetry import BLOCKS, Telemetry, by_block, column, instances, total

__all__ = ["OBSERVER"]

_DAY = 86_400


def _instances(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    served = column(telemetry, "plan_instance_shares", "requests")
    return exactly(len(served), "instances that served a request") if len(served) else None


def _cached_tokens(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    tokens = instances(telemetry, "kv_capacity_tokens")
    held = tokens[np.isfinite(tokens)]
    if len(held) == 1 or (len(held) and np.ptp(held) == 0):
        return exactly(float(held[0]), f"KV capacity of {len(held)} instances")
    return mean_of(tokens, f"KV capacity of {len(held)} instances")


def _failures(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure instances taken out a day, from the gateway's counter."""
    ejected = by_block(telemetry, "plan_signal_blocks", "value", signal="gateway_ejections")
    seconds = column(telemetry, "plan_request_blocks", "block_seconds")
    if not np.isfinite(ejected).any() or not len(seconds):
        return None
    return poisson_rate(total(ejected), float(seconds[0]) * BLOCKS / _DAY, f"{total(ejected):,.0f} ejections")


def _retries(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure tries after the first in a day: the gateway's counter, else the requests' own attempts."""
    counted = by_block(telemetry, "plan_signal_blocks", "value", signal="gateway_retries")
    if not np.isfinite(counted).any():
        counted = by_block(telemetry, "plan_request_blocks", "retries")
    seconds = column(telemetry, "plan_request_blocks", "block_seconds")
    if not np.isfinite(counted).any() or not len(seconds):
        return None
    days = np.full(BLOCKS, float(seconds[0]) / _DAY)
    return ratio_of_sums(np.nan_to_num(counted), days, f"{total(counted):,.0f} tries after the first")


def _hottest(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    hottest, requests = (column(telemetry, "plan_first_blocks", name) for name in ("hottest", "requests"))
    if not len(requests):
        return None
    return share_of(float(hottest[0]), float(requests[0]), f"first blocks of {float(requests[0]):,.0f} requests")


def _busiest(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    served = column(telemetry, "plan_instance_shares", "requests")
    return largest_share(served, f"{served.sum():,.0f} requests on {len(served)} instances") if len(served) else None


OBSERVER = Observer(
    planner="gateway",
    queries=(
        "plan_request_blocks",
        "plan_arrival_blocks",
        "plan_arrival_counts",
        "plan_signal_blocks",
        "plan_histogram_blocks",
        "plan_instances",
        "plan_instance_shares",
        "plan_first_blocks",
    ),
    measures={
        "requests_per_second": peak_rate,
        "instances": _instances,
        "prompt_tokens": request_ratio("input_tokens", "input_rows", "mean"),
        "block_tokens": common_instance("block_tokens"),
        "cached_tokens_per_instance": _cached_tokens,
        "bytes_per_node": signal_ratio("gateway_index_bytes", "gateway_index_nodes"),
        "health_check_seconds": signal_mean("gateway_health_check_seconds"),
        "passive_detection_seconds": signal_mean("gateway_detection_seconds"),
        "failures_per_day": _failures,
        "observed_retries_per_day": _retries,
        "hot_prefix_ratio": _hottest,
        "busiest_instance_ratio": _busiest,
        "router_seconds": first_of(
            (
                signal_ratio("gateway_router_seconds_sum", "gateway_router_seconds_count"),
                histogram_mean("gateway_router_seconds"),
            )
        ),
        "gateway_seconds": request_ratio("gateway_seconds", "gateway_rows", "mean"),
        "mean_request_seconds": request_ratio("e2e_seconds", "e2e_rows", "mean"),
    },
)

"""Peaks, capacities and residency by region, from hourly counts and instances; tables as read, without intervals."""

from __future__ import annotations

import numpy as np

from analytics.planners.form import Estimate, Named, PlannerInputs
from analytics.planners.observed.intervals import exactly
from analytics.planners.observed.measures import hourly, throughput
from analytics.planners.observed.telemetry import Telemetry, column, instance_texts, texts

__all__ = ["capacities", "count", "peak_hours", "peaks", "resident", "trough"]


def _names(telemetry: Telemetry) -> list[str]:
    return sorted({name for name in texts(telemetry, "plan_hours", "region") if name})


def count(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure the number of regions that serve requests or run instances, as a fact."""
    placed = {name for name in instance_texts(telemetry, "region") if name}
    found = placed | set(_names(telemetry))
    return exactly(len(found), ", ".join(sorted(found))) if found else None


def peaks(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure each region's requests/s in the busiest hour of its day."""
    pairs: Named = tuple((name, float(np.nanmax(hourly(telemetry, name))) / 3600) for name in _names(telemetry))
    return Estimate(pairs, None, None, "busiest hour of the mean day") if pairs else None


def peak_hours(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure the UTC hour of each region's peak."""
    pairs: Named = tuple((name, float(np.nanargmax(hourly(telemetry, name)))) for name in _names(telemetry))
    return Estimate(pairs, None, None, "busiest hour of the mean day") if pairs else None


def trough(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure the lowest over the highest hour, the mean of regions; needs most of a day."""
    ratios = []
    for name in _names(telemetry):
        rates = hourly(telemetry, name)
        if np.isfinite(rates).sum() >= 20:
            ratios.append(float(np.nanmin(rates) / np.nanmax(rates)))
    return Estimate(float(np.mean(ratios)), None, None, f"mean day of {len(ratios)} regions") if ratios else None


def capacities(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
    """Measure each region's capacity: its instances x the rate of one with requests waiting."""
    each = throughput("busy_finished", "busy_seconds")(telemetry, inputs)
    regions = [name for name in instance_texts(telemetry, "region") if name]
    if each is None or isinstance(each.value, tuple) or not regions or each.value <= 0:
        return None
    pairs: Named = tuple((name, regions.count(name) * each.value) for name in sorted(set(regions)))
    return Estimate(pairs, None, None, f"instances x {each.value:.3g} requests/s, from {each.basis}")


def resident(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure each region's share of requests that may not leave it."""
    names, kinds = (texts(telemetry, "plan_residency", key) for key in ("region", "residency"))
    requests = column(telemetry, "plan_residency", "requests")
    sums: dict[str, list[float]] = {}
    for name, kind, number in zip(names, kinds, requests, strict=True):
        if name:
            pair = sums.setdefault(name, [0.0, 0.0])
            pair[0] += float(number) if kind == "bound" else 0.0
            pair[1] += float(number)
    pairs: Named = tuple((name, bound / whole) for name, (bound, whole) in sums.items() if whole > 0)
    return Estimate(pairs, None, None, "region_requests by residency") if pairs else None

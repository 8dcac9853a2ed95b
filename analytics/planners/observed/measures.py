"""The measures that several planners share: rates, means and shares of columns and signals; each says its basis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analytics.planners.form import Estimate, Named, PlannerInputs
from analytics.planners.observed.intervals import exactly, largest_rate, mean_of, ratio_of_sums
from analytics.planners.observed.telemetry import (
    BLOCKS,
    Floats,
    Telemetry,
    by_block,
    column,
    instance_texts,
    instances,
    texts,
    total,
)

__all__ = [
    "Measure",
    "Observer",
    "cold_start",
    "common_instance",
    "first_of",
    "histogram_mean",
    "hourly",
    "listed",
    "mean_rate",
    "peak_rate",
    "per_machine",
    "request_ratio",
    "scaled",
    "signal_mean",
    "signal_ratio",
    "table",
    "throughput",
]

#: Reads telemetry, with the inputs so far for what is not telemetry (a model's size), and returns an estimate.
Measure = Callable[[Telemetry, PlannerInputs], Estimate | None]
#: Requests that the busiest window should hold: their count is then known to 5 %.
_PEAK_REQUESTS = 400
_FIVE_MINUTES = 300
_MOST_WINDOWS = 12


@dataclass(frozen=True, slots=True)
class Observer:
    """What of a planner telemetry can give: the queries to run and a measure for each input."""

    planner: str
    queries: tuple[str, ...]
    measures: dict[str, Measure]

    def observe(self, telemetry: Telemetry, inputs: PlannerInputs) -> dict[str, Estimate]:
        """Return the estimates that the telemetry supports, by input."""
        found = {name: measure(telemetry, inputs) for name, measure in self.measures.items()}
        return {name: estimate for name, estimate in found.items() if estimate is not None}


def request_ratio(top: str, bottom: str, basis: str, query: str = "plan_request_blocks") -> Measure:
    """Measure Σ top / Σ bottom of columns summed by block."""

    def measure(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
        tops, bottoms = by_block(telemetry, query, top), by_block(telemetry, query, bottom)
        if query == "plan_request_blocks" and total(bottoms) == 0:
            fallback = "plan_arrival_blocks"
            tops, bottoms = by_block(telemetry, fallback, top), by_block(telemetry, fallback, bottom)
        return ratio_of_sums(tops, bottoms, f"{basis}, {total(bottoms):,.0f} {bottom.replace('_', ' ')}")

    return measure


def signal_ratio(top: str, bottom: str, kind: str | None = None) -> Measure:
    """Measure Σ one signal / Σ another, both of one kind where given."""

    def measure(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
        tops = _signal(telemetry, top, "value", kind)
        bottoms = _signal(telemetry, bottom, "value", kind)
        return ratio_of_sums(tops, bottoms, _basis(f"{top} / {bottom}", kind))

    return measure


def signal_mean(signal: str, kind: str | None = None) -> Measure:
    """Measure the mean of a signal's samples."""

    def measure(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
        tops = _signal(telemetry, signal, "value", kind)
        bottoms = _signal(telemetry, signal, "samples", kind)
        return ratio_of_sums(tops, bottoms, _basis(f"mean of {signal}", kind))

    return measure


def histogram_mean(metric: str) -> Measure:
    """Measure the mean of a scraped histogram: between the means of its lower and of its upper edges."""

    def measure(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
        query = "plan_histogram_blocks"
        counts = by_block(telemetry, query, "observations", kind=metric)
        least = ratio_of_sums(by_block(telemetry, query, "least_sum", kind=metric), counts, "")
        most = ratio_of_sums(by_block(telemetry, query, "most_sum", kind=metric), counts, "")
        if least is None or most is None or isinstance(least.value, tuple) or isinstance(most.value, tuple):
            return None
        basis = f"edges of {total(counts):,.0f} observations of {metric}"
        return Estimate((least.value + most.value) / 2, max(0.0, least.low or 0.0), most.high, basis)

    return measure


def _signal(telemetry: Telemetry, signal: str, name: str, kind: str | None) -> Floats:
    where = {"signal": signal} if kind is None else {"signal": signal, "kind": kind}
    return by_block(telemetry, "plan_signal_blocks", name, **where)


def _basis(text: str, kind: str | None) -> str:
    return text if kind is None else f"{text} ({kind})"


def peak_rate(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure requests/s in the busiest window, the shortest (5 to 60 minutes) that holds enough requests."""
    starts = column(telemetry, "plan_arrival_counts", "five_minutes")
    counts = column(telemetry, "plan_arrival_counts", "arrivals")
    if len(starts) < 3:
        return None
    filled = np.zeros(int(starts[-1] - starts[0]) + 1)
    filled[(starts - starts[0]).astype(np.int64)] = counts
    inner = filled[1:-1]
    for width in range(1, _MOST_WINDOWS + 1):
        windows = inner[: len(inner) // width * width].reshape(-1, width).sum(axis=1)
        if len(windows) == 0:
            return None
        if windows.max() >= _PEAK_REQUESTS or width == _MOST_WINDOWS:
            break
    return largest_rate(windows, width * _FIVE_MINUTES, f"busiest {5 * width} minutes of {len(windows)}")


def mean_rate(name: str = "requests") -> Measure:
    """Measure requests/s (or another count of the request blocks) over the whole window."""

    def measure(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
        counts = np.nan_to_num(by_block(telemetry, "plan_request_blocks", name))
        seconds = column(telemetry, "plan_request_blocks", "block_seconds")
        if len(seconds) == 0 or counts.sum() == 0:
            return None
        widths = np.full(BLOCKS, float(seconds[0]))
        return ratio_of_sums(counts, widths, f"{counts.sum():,.0f} {name.replace('_', ' ')} over the window")

    return measure


def throughput(top: str, bottom: str, role: str | None = None) -> Measure:
    """Measure what engines do while requests wait: Σ top / Σ busy time, from scrapes with a queue."""

    def measure(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
        where = {} if role is None else {"role": role}
        tops = by_block(telemetry, "plan_engine_blocks", top, **where)
        bottoms = by_block(telemetry, "plan_engine_blocks", bottom, **where)
        busy = f"scrapes with requests waiting, {total(bottoms):,.0f} busy s"
        return ratio_of_sums(tops, bottoms, busy if role is None else f"{role} {busy}")

    return measure


def common_instance(name: str, role: str | None = None) -> Measure:
    """Measure the most common value of an instance property, as a fact."""

    def measure(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
        values = instances(telemetry, name)
        roles = instance_texts(telemetry, "role")
        held = [float(v) for v, r in zip(values, roles, strict=True) if np.isfinite(v) and role in (None, r)]
        if not held:
            return None
        found, counts = np.unique(held, return_counts=True)
        return exactly(float(found[counts.argmax()]), f"{name} of {len(held)} instances")

    return measure


def per_machine(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure GPUs of the fullest host, as a fact."""
    hosts, gpus = instance_texts(telemetry, "host"), instances(telemetry, "gpu_count")
    sums: dict[str, float] = {}
    for host, count in zip(hosts, gpus, strict=True):
        if host is not None and np.isfinite(count):
            sums[host] = sums.get(host, 0.0) + float(count)
    return exactly(max(sums.values()), f"instances of {len(sums)} hosts") if sums else None


def cold_start(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure seconds from an instance's start to its readiness."""
    seconds = column(telemetry, "plan_instances", "cold_start_seconds")
    return mean_of(seconds, f"{int(np.isfinite(seconds).sum())} starts in the window")


def table(query: str, key: str, value: str, basis: str) -> Measure:
    """Measure a table of named numbers, as read; it has no interval."""

    def measure(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
        names, values = texts(telemetry, query, key), column(telemetry, query, value)
        pairs: Named = tuple(
            (name, float(each)) for name, each in zip(names, values, strict=True) if name and np.isfinite(each)
        )
        return Estimate(pairs, None, None, basis) if pairs else None

    return measure


def hourly(telemetry: Telemetry, region: str | None = None) -> Floats:
    """Return mean requests an hour by UTC hour (24 values, NaN where never observed)."""
    regions = texts(telemetry, "plan_hours", "region")
    keep = np.array([region in (None, each) for each in regions], dtype=bool)
    hours = column(telemetry, "plan_hours", "utc_hour")
    counts, seen = column(telemetry, "plan_hours", "requests"), column(telemetry, "plan_hours", "hours")
    rates = np.full(24, np.nan)
    for hour in range(24):
        at = keep & (hours == hour) if len(hours) else np.zeros(0, dtype=bool)
        if at.any():
            rates[hour] = counts[at].sum() / seen[at].max()
    return rates


def scaled(measure: Measure, factor: float, basis: str) -> Measure:
    """Measure a constant multiple of another measure."""

    def times(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
        found = measure(telemetry, inputs)
        if found is None or isinstance(found.value, tuple):
            return None
        low, high = sorted((factor * (found.low or 0.0), factor * (found.high or 0.0)))
        return Estimate(factor * found.value, low, high, basis)

    return times


def first_of(measures: Sequence[Measure]) -> Measure:
    """Measure with the first of several that has data."""

    def measure(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
        for each in measures:
            found = each(telemetry, inputs)
            if found is not None:
                return found
        return None

    return measure


def listed(measure: Measure) -> Measure:
    """Measure a list input as the one number that another measure gives."""

    def one(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
        found = measure(telemetry, inputs)
        if found is None or isinstance(found.value, tuple):
            return None
        return replace(found, value=(found.value,))

    return one

"""Bounds how many tenants one gateway page may name: the rest are counted together as `other`; never drops a count."""

from __future__ import annotations

from dataclasses import replace

from signals.readings import Attributes, HistogramIncrement, Increments

OTHER = "other"
NAMES = ("tenant", "tenant_id")


def cap_tenants(found: Increments, seen: set[str], limit: int) -> Increments:
    """Return the increments with at most `limit` distinct tenants; `seen` remembers who came first."""
    if len(seen) < limit:
        for _, attributes in (*found.counters, *((h.signal, h.attributes) for h in found.histograms)):
            tenant = _tenant(attributes)
            if tenant is not None and len(seen) < limit:
                seen.add(tenant)
    names = {_tenant(attributes) for _, attributes in (*found.counters, *found.gauges)}
    names |= {_tenant(histogram.attributes) for histogram in found.histograms}
    if names <= seen | {None}:
        return found
    counters: dict[tuple[str, Attributes], float] = {}
    for (signal, attributes), value in found.counters.items():
        key = (signal, _known(attributes, seen))
        counters[key] = counters.get(key, 0.0) + value
    histograms: dict[tuple[str, Attributes, tuple[float, ...]], HistogramIncrement] = {}
    for histogram in found.histograms:
        place = (histogram.signal, _known(histogram.attributes, seen), histogram.edges)
        histograms[place] = _sum(histograms.get(place), replace(histogram, attributes=place[1]))
    gauges = {key: value for key, value in found.gauges.items() if _tenant(key[1]) in seen | {None}}
    return replace(found, counters=counters, histograms=tuple(histograms.values()), gauges=gauges)


def _tenant(attributes: Attributes) -> str | None:
    return next((value for name, value in attributes if name in NAMES), None)


def _known(attributes: Attributes, seen: set[str]) -> Attributes:
    if _tenant(attributes) in seen | {None}:
        return attributes
    kept = [(name, value) for name, value in attributes if name not in NAMES]
    return tuple(sorted([*kept, ("tenant", OTHER)]))


def _sum(one: HistogramIncrement | None, two: HistogramIncrement) -> HistogramIncrement:
    if one is None:
        return two
    counts = tuple(a + b for a, b in zip(one.counts, two.counts, strict=True))
    return replace(two, counts=counts, sum=one.sum + two.sum, count=one.count + two.count)

"""Reads what an SLI counts: thresholds of a ratio metric or a threshold metric, and whose requests; counts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analytics.slo.objective import METRICS, Threshold
from analytics.slo.openslo.fault import Fault
from analytics.slo.openslo.node import Node
from analytics.slo.openslo.presets import PRESETS
from analytics.slo.openslo.schema import SOURCE_TYPES
from analytics.slo.openslo.scope import Filters, read_by, read_filters
from signals.errors import nearest
from signals.lengths import LENGTH_BUCKETS


@dataclass(frozen=True, slots=True)
class Indicator:
    """What counts as good and for which requests; `by_value` waits for the objective's `value` as its limit."""

    thresholds: tuple[Threshold, ...]
    only: Filters
    by: tuple[str, ...]
    by_value: str | None = None


def read_indicator(spec: Node, sources: Mapping[str, Node], faults: list[Fault]) -> Indicator | None:
    """Return the meaning of an SLI's `spec`; None (and a fault) where it has none."""
    ratio, threshold = spec.get("ratioMetric"), spec.get("thresholdMetric")
    if (ratio is None) == (threshold is None):
        faults.append(spec.fault("needs exactly one of ratioMetric and thresholdMetric", key="ratioMetric"))
        return None
    if threshold is not None:
        return _threshold_metric(threshold, sources, faults)
    assert ratio is not None
    return _ratio_metric(ratio, sources, faults)


def _threshold_metric(node: Node, sources: Mapping[str, Node], faults: list[Fault]) -> Indicator | None:
    inner = _source_spec(node, sources, faults)
    if inner is None:
        return None
    metric = inner.get("metric")
    if metric is None:
        faults.append(inner.fault(f"is missing; one of {', '.join(METRICS)}", key="metric"))
        return None
    _known_metric(metric, faults)
    faults.extend(
        inner.fault("does not go with thresholdMetric: the objective's value is the limit", key=name, line=line)
        for name, line, _ in inner.entries
        if name in ("le", "le_by_length", "thresholds", "preset")
    )
    only = read_filters(inner.get("filters"), faults)
    return Indicator((), only, read_by(inner.get("by"), only, faults), by_value=metric.text)


def _ratio_metric(node: Node, sources: Mapping[str, Node], faults: list[Fault]) -> Indicator | None:
    faults.extend(
        other.fault("is not supported: give good and total, so that both can be counted")
        for name in ("bad", "raw", "rawType")
        if (other := node.get(name)) is not None
    )
    good, total = node.get("good"), node.get("total")
    for name, part in (("good", good), ("total", total)):
        if part is None:
            faults.append(node.fault("is missing", key=name))
    if good is None or total is None:
        return None
    inner, whole = _source_spec(good, sources, faults), _source_spec(total, sources, faults)
    if inner is None or whole is None:
        return None
    thresholds = _thresholds(inner, faults)
    faults.extend(
        whole.fault("belongs to good: total counts every eligible request", key=name, line=line)
        for name, line, _ in whole.entries
        if name in ("le", "le_by_length", "thresholds", "preset")
    )
    only = read_filters(whole.get("filters"), faults)
    own = inner.get("filters")
    if own is not None and read_filters(own, faults) != only:
        faults.append(own.fault("must equal the filters of total: both count the same requests"))
    return Indicator(thresholds, only, read_by(whole.get("by") or inner.get("by"), only, faults))


def _source_spec(metric: Node, sources: Mapping[str, Node], faults: list[Fault]) -> Node | None:
    source = metric.get("metricSource")
    if source is None:
        faults.append(metric.fault("is missing", key="metricSource"))
        return None
    kind, reference = source.get("type"), source.get("metricSourceRef")
    if reference is not None:
        document = sources.get(reference.text)
        if document is None:
            faults.append(
                reference.fault(f"no DataSource is called {reference.text!r}{nearest(reference.text, sources)}")
            )
        else:
            kind = kind or document.at("spec", "type")
    if kind is not None and kind.text not in SOURCE_TYPES:
        faults.append(kind.fault(f"unknown metric source type {kind.text!r}{nearest(kind.text, SOURCE_TYPES)}"))
    spec = source.get("spec")
    return Node(source.file, source.line, source.opened, f"{source.key}.spec", "map") if spec is None else spec


def _thresholds(spec: Node, faults: list[Fault]) -> tuple[Threshold, ...]:
    """Return the limits of good: one metric, a list of thresholds, a preset, or none (availability)."""
    given = [name for name in ("preset", "thresholds", "metric") if spec.get(name) is not None]
    if len(given) > 1:
        faults.append(spec.fault(f"give only one of {' and '.join(given)}", key=given[1]))
        return ()
    preset, listed = spec.get("preset"), spec.get("thresholds")
    if preset is not None:
        if preset.text not in PRESETS:
            faults.append(preset.fault(f"unknown preset {preset.text!r}{nearest(preset.text, PRESETS)}"))
        return PRESETS.get(preset.text, ())
    if listed is not None:
        found = [_threshold(item, faults) for item in listed.items]
        seen: set[str] = set()
        for item, threshold in zip(listed.items, found, strict=True):
            if threshold is not None and threshold.metric in seen:
                faults.append(item.fault(f"{threshold.metric} is limited twice", key="metric"))
            seen |= set() if threshold is None else {threshold.metric}
        return tuple(threshold for threshold in found if threshold is not None)
    if spec.get("metric") is None:
        faults.extend(
            spec.fault("needs a metric beside it", key=name, line=line)
            for name, line, _ in spec.entries
            if name in ("le", "le_by_length")
        )
        return ()
    one = _threshold(spec, faults)
    return () if one is None else (one,)


def _threshold(node: Node, faults: list[Fault]) -> Threshold | None:
    metric, le, by_length = node.get("metric"), node.get("le"), node.get("le_by_length")
    before = len(faults)
    if metric is None:
        faults.append(node.fault(f"is missing; one of {', '.join(METRICS)}", key="metric"))
    else:
        _known_metric(metric, faults)
    if le is None and by_length is None:
        faults.append(node.fault("is missing: the largest good value in seconds", key="le"))
    limit = None if le is None else _seconds(le, faults)
    limits = {}
    for bucket, line, value in by_length.entries if by_length is not None else ():
        if bucket not in LENGTH_BUCKETS:
            assert by_length is not None
            faults.append(
                by_length.fault(f"unknown length bucket{nearest(bucket, LENGTH_BUCKETS)}", key=bucket, line=line)
            )
        elif (seconds := _seconds(value, faults)) is not None:
            limits[bucket] = seconds
    if by_length is not None and (by_length.kind != "map" or not by_length.entries):
        faults.append(by_length.fault("must be a mapping of length buckets to seconds"))
    if len(faults) > before or metric is None:
        return None
    return Threshold(metric.text, limit, limits)


def _known_metric(metric: Node, faults: list[Fault]) -> None:
    if metric.text not in METRICS:
        faults.append(metric.fault(f"unknown metric {metric.text!r}{nearest(metric.text, METRICS)}"))


def _seconds(node: Node, faults: list[Fault]) -> float | None:
    value = node.number()
    if value is None or not 0 < value < float("inf"):
        faults.append(node.fault("must be a positive number of seconds"))
        return None
    return value

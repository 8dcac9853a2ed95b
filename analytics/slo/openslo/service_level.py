"""Turns one SLO document into objectives; reports each fault at its line and key, resolves references by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analytics.slo.alerting import BurnRule
from analytics.slo.exclusion import Exclusion
from analytics.slo.objective import Objective, Threshold
from analytics.slo.openslo.duration import duration_seconds
from analytics.slo.openslo.fault import Fault
from analytics.slo.openslo.indicator import Indicator, read_indicator
from analytics.slo.openslo.node import Node
from analytics.slo.openslo.policy import read_rules
from signals.errors import nearest

MIN_EVENTS = "sloscope.io/min-events"
DEFAULT_MIN_EVENTS = 20
_UNSUPPORTED = ("indicator", "indicatorRef", "compositeWeight", "timeSliceTarget", "timeSliceWindow")

Documents = Mapping[str, Mapping[str, Node]]


def read_slo(
    document: Node, documents: Documents, exclusions: Sequence[Exclusion], faults: list[Fault]
) -> tuple[Objective, ...]:
    """Return one objective per entry of `spec.objectives`; none where the document has faults."""
    before = len(faults)
    spec = document.get("spec")
    if spec is None:
        return ()
    _service(spec, documents, faults)
    window = _window(spec, faults)
    method = spec.get("budgetingMethod")
    if method is not None and method.text != "Occurrences":
        faults.append(method.fault("is not supported: budgets here count requests, use Occurrences"))
    indicator = _indicator(spec, documents, faults)
    min_events = _min_events(document, faults)
    entries = spec.get("objectives")
    found: list[Objective] = []
    listed = () if entries is None else entries.items
    for place, entry in enumerate(listed):
        target = _target(entry, faults)
        thresholds = None if indicator is None else _thresholds(entry, indicator, faults)
        if target is None or window is None:
            continue
        rules = read_rules(document, documents, target, window, faults)
        if len(faults) == before and thresholds is not None and indicator is not None:
            name = _name(document, entry, place, len(listed))
            found.append(
                _objective(document, name, target, window, thresholds, indicator, rules, min_events, exclusions)
            )
    return tuple(found) if len(faults) == before else ()


def _objective(
    document: Node,
    name: str,
    target: float,
    window: int,
    thresholds: tuple[Threshold, ...],
    indicator: Indicator,
    rules: tuple[BurnRule, ...] | None,
    min_events: int,
    exclusions: Sequence[Exclusion],
) -> Objective:
    service, description = document.at("spec", "service"), document.at("spec", "description")
    return Objective(
        name,
        thresholds,
        target=target,
        window_seconds=window,
        only=indicator.only,
        by=indicator.by,
        rules=rules,
        min_events=min_events,
        exclusions=tuple(exclusions),
        service=None if service is None else service.text,
        description="" if description is None else description.text,
    )


def objective_names(document: Node) -> tuple[str, ...]:
    """Return the names that a document's objectives will have."""
    entries = document.at("spec", "objectives")
    listed = () if entries is None else entries.items
    return tuple(_name(document, entry, place, len(listed)) for place, entry in enumerate(listed))


def _name(document: Node, entry: Node, place: int, count: int) -> str:
    name = document.at("metadata", "name")
    base = "" if name is None else name.text
    if count == 1:
        return base
    shown = entry.get("displayName") if entry.kind == "map" else None
    return f"{base}/{place + 1 if shown is None else shown.text}"


def _service(spec: Node, documents: Documents, faults: list[Fault]) -> None:
    """A service must exist as soon as the directory declares any."""
    service, known = spec.get("service"), documents.get("Service", {})
    if service is not None and known and service.text not in known:
        faults.append(service.fault(f"no Service is called {service.text!r}{nearest(service.text, known)}"))


def _window(spec: Node, faults: list[Fault]) -> int | None:
    windows = spec.get("timeWindow")
    if windows is None or windows.kind != "list":
        return None
    if len(windows.items) != 1:
        faults.append(windows.fault("must hold exactly one window"))
        return None
    (window,) = windows.items
    rolling, calendar, duration = window.get("isRolling"), window.get("calendar"), window.get("duration")
    if (rolling is not None and rolling.text.lower() in ("false", "no", "off")) or calendar is not None:
        place = calendar or rolling
        assert place is not None
        faults.append(place.fault("calendar windows are not supported: use a rolling window (isRolling: true)"))
    if duration is None:
        return None
    seconds = duration_seconds(duration.text)
    if seconds is None or seconds < 3_600:
        faults.append(duration.fault("must be a duration of at least an hour in s, m, h, d or w, such as 28d"))
        return None
    return seconds


def _indicator(spec: Node, documents: Documents, faults: list[Fault]) -> Indicator | None:
    inline, reference = spec.get("indicator"), spec.get("indicatorRef")
    if (inline is None) == (reference is None):
        faults.append(spec.fault("needs exactly one of indicator and indicatorRef", key="indicator"))
        return None
    inner: Node | None
    if reference is not None:
        known = documents.get("SLI", {})
        if reference.text not in known:
            faults.append(reference.fault(f"no SLI is called {reference.text!r}{nearest(reference.text, known)}"))
            return None
        inner = known[reference.text].get("spec")
    else:
        assert inline is not None
        inner = inline.get("spec")
        if inner is None:
            faults.append(inline.fault("is missing", key="spec"))
    if inner is None:
        return None
    return read_indicator(inner, documents.get("DataSource", {}), faults)


def _target(entry: Node, faults: list[Fault]) -> float | None:
    if entry.kind != "map":
        return None
    faults.extend(
        other.fault("is not supported: one indicator, judged by occurrences")
        for name in _UNSUPPORTED
        if (other := entry.get(name)) is not None
    )
    target, percent = entry.get("target"), entry.get("targetPercent")
    if target is not None and percent is not None:
        faults.append(percent.fault("does not go with target: give one of the two"))
        return None
    if target is None and percent is None:
        faults.append(entry.fault("is missing: target (0..1) or targetPercent", key="target"))
        return None
    node = percent if target is None else target
    assert node is not None
    value, scale = node.number(), 1 if target is not None else 100
    if value is None or not 0 < value / scale < 1:
        hint = (
            f"; did you mean {value / 100:g}?" if value is not None and target is not None and 1 < value < 100 else ""
        )
        faults.append(node.fault(f"must lie between 0 and {scale}, both exclusive{hint}"))
        return None
    return value / scale


def _thresholds(entry: Node, indicator: Indicator, faults: list[Fault]) -> tuple[Threshold, ...] | None:
    """Return the limits that good means for one entry: the indicator's, or the entry's value for a threshold metric."""
    if entry.kind != "map":
        return None
    op, value = entry.get("op"), entry.get("value")
    if indicator.by_value is None:
        faults.extend(
            node.fault("goes only with thresholdMetric; a ratioMetric has its limit in good")
            for node in (op, value)
            if node is not None
        )
        return indicator.thresholds
    if value is None:
        faults.append(entry.fault("is missing: the largest good value in seconds", key="value"))
        return None
    limit = value.number()
    if limit is None or not 0 < limit < float("inf"):
        faults.append(value.fault("must be a positive number of seconds"))
        return None
    if op is None or op.text != "lte":
        place = entry.fault("must be lte: a latency is good up to and including its limit", key="op")
        faults.append(place if op is None else op.fault("must be lte: a latency is good up to and including its limit"))
        return None
    return (Threshold(indicator.by_value, limit),)


def _min_events(document: Node, faults: list[Fault]) -> int:
    node = document.at("metadata", "annotations", MIN_EVENTS)
    if node is None:
        return DEFAULT_MIN_EVENTS
    if not node.text.isascii() or not node.text.isdigit() or not 0 < int(node.text[:12]) < 10**9:
        faults.append(node.fault("must be a whole number of events, at least 1"))
        return DEFAULT_MIN_EVENTS
    return int(node.text)

"""Reads a page through a dialect: compiles rules against a layout once, then only picks values; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite

from signals.dialects.form import COUNTER, GAUGE, HISTOGRAM, INFO, NAMES, Dialect, Rule, normal
from signals.pages import Layout, LineError, Page, Series
from signals.readings import Attributes, Counter, Histogram, PageReading, Reading, Shape

#: Label values that mean "no value" in several engines.
NOT_A_VALUE = frozenset({"", "None", "none", "null", "undefined", "unknown"})
Group = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class GaugePlan:
    """Where a gauge's ranks stand on the page and how they become one number."""

    name: tuple[str, Attributes]
    places: tuple[int, ...]
    over: str
    scale: float
    floor: float | None
    names_in: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """Everything that is read for one (model, role): `places[i]` is where cumulative value i stands on the page."""

    shape: Shape
    places: tuple[int, ...]
    gauges: tuple[GaugePlan, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A dialect compiled against one layout."""

    groups: tuple[GroupPlan, ...]
    version: str | None
    facts: Mapping[str, str]
    process_start: int | None
    unknown: tuple[str, ...]
    missing: tuple[str, ...]
    errors: tuple[LineError, ...]


@dataclass(slots=True)
class PageReader:
    """Reads pages of one target. `model` names the model of engines whose series carry no label for it."""

    dialect: Dialect
    model: str | None = None
    role: str | None = None
    _plans: dict[int, tuple[Layout, Plan]] = field(default_factory=dict)

    def read(self, page: Page) -> PageReading:
        plan = self.plan(page.layout)
        values = page.values
        readings = tuple(
            Reading(
                group.shape,
                {gauge.name: _gauge(gauge, values) for gauge in group.gauges},
                [values[place] for place in group.places],
            )
            for group in plan.groups
        )
        start = None if plan.process_start is None else values[plan.process_start]
        return PageReading(self.dialect.engine, plan.version, start, readings, plan.facts)

    def plan(self, layout: Layout) -> Plan:
        """Return the compiled plan of a layout (kept while the layout is)."""
        found = self._plans.get(id(layout))
        if found is not None and found[0] is layout:
            return found[1]
        plan = _Compiler(self.dialect, self.model, self.role).compile(layout)
        if len(self._plans) > 3:
            self._plans.clear()
        self._plans[id(layout)] = (layout, plan)
        return plan


def _gauge(plan: GaugePlan, values: list[float]) -> float | None:
    if plan.names_in:
        newest = max(range(len(plan.places)), key=lambda i: values[plan.places[i]])
        return float(plan.names_in[newest])
    found = [
        values[place]
        for place in plan.places
        if isfinite(values[place]) and (plan.floor is None or values[place] >= plan.floor)
    ]
    if not found:
        return None
    if plan.over == "max":
        return max(found) * plan.scale
    if plan.over == "first":
        return found[0] * plan.scale
    total = sum(found) * plan.scale
    return total / len(found) if plan.over == "mean" else total


class _Compiler:
    """Matches the series of one layout with the rules of one dialect."""

    def __init__(self, dialect: Dialect, model: str | None, role: str | None) -> None:
        self._dialect = dialect
        self._model = model
        self._role = role

    def compile(self, layout: Layout) -> Plan:
        families: dict[str, list[int]] = {}
        for place, series in enumerate(layout.series):
            if not series.name.endswith("_created") and self._dialect.keep(series):
                families.setdefault(normal(series.family), []).append(place)
        groups = self._groups(layout)
        plans = []
        matched: set[str] = set()
        for group in groups:
            plan, names = self._group(group, groups, families, layout)
            plans.append(plan)
            matched |= names
        facts: dict[str, str] = {}
        for rule in self._dialect.rules:
            if rule.kind == INFO:
                for place in self._places(rule, families, layout)[0]:
                    facts.update(_facts(rule, layout.series[place]))
        start = next((i for i, s in enumerate(layout.series) if s.name == "process_start_time_seconds"), None)
        version = next((v for s in layout.series if (v := self._dialect.version(s))), None)
        ruled = {normal(raw) for rule in self._dialect.rules for raw in rule.raw}
        ignored = {normal(name) for name in self._dialect.ignored}
        unknown = tuple(
            sorted(name for name in families if name.startswith(self._dialect.prefixes) and name not in ruled | ignored)
        )
        missing = tuple(signal for signal in self._dialect.expected() if signal not in matched)
        return Plan(tuple(plans), version, facts, start, unknown, missing, layout.errors)

    def _groups(self, layout: Layout) -> tuple[Group, ...]:
        """Return every (model, role) of the page; a page that names no model has one group."""
        if self._dialect.gateway:
            return ((None, None),)
        found: dict[Group, None] = {}
        for series in layout.series:
            if normal(series.family).startswith(self._dialect.prefixes) and self._dialect.keep(series):
                model = self._model_of(series)
                if model is not None:
                    found[(model, self._role_of(series))] = None
        return tuple(found) or ((self._model, self._role or self._dialect.default_role),)

    def _model_of(self, series: Series) -> str | None:
        for label in self._dialect.model_labels:
            value = series.labels.get(label)
            if value is not None and value not in NOT_A_VALUE:
                return value
        return None

    def _role_of(self, series: Series) -> str | None:
        return self._role or self._dialect.role(series) or self._dialect.default_role

    def _group(
        self, group: Group, groups: tuple[Group, ...], families: dict[str, list[int]], layout: Layout
    ) -> tuple[GroupPlan, set[str]]:
        def belongs(place: int) -> bool:
            if self._dialect.gateway:
                return True
            series = layout.series[place]
            model = self._model_of(series)
            if model is None:
                return len(groups) == 1
            return (model, self._role_of(series)) == group

        gauges: list[GaugePlan] = []
        matched: set[str] = set()
        shaper = _Shaper(layout)
        for rule in self._dialect.rules:
            places, _ = self._places(rule, families, layout, belongs)
            if not places:
                continue
            matched.add(rule.signal)
            for attributes, members in _by_attributes(rule, places, layout).items():
                if rule.kind == GAUGE:
                    gauges.append(
                        GaugePlan((rule.signal, attributes), tuple(members), rule.over, rule.scale, rule.floor)
                    )
                elif rule.kind == NAMES:
                    gauges.append(_names_plan(rule, attributes, members, layout))
                elif rule.kind == COUNTER:
                    shaper.counter(rule, attributes, members)
                elif rule.kind == HISTOGRAM:
                    shaper.histograms(rule, attributes, members)
                    matched.update(name for name in (rule.sum_as, rule.count_as) if name)
        shape, where = shaper.shape(group)
        return GroupPlan(shape, where, tuple(gauges)), matched

    def _places(
        self,
        rule: Rule,
        families: dict[str, list[int]],
        layout: Layout,
        belongs: Callable[[int], bool] | None = None,
    ) -> tuple[list[int], str]:
        """Return the places of the first alias that this page has."""
        for raw in rule.raw:
            found = [
                place
                for place in families.get(normal(raw), ())
                if _allowed(rule, layout.series[place]) and (belongs is None or belongs(place))
            ]
            if found:
                return found, raw
        return [], ""


class _Shaper:
    """Collects cumulative values: each raw series once, in the order of first use."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._index: dict[int, int] = {}
        self._counters: list[Counter] = []
        self._histograms: list[Histogram] = []

    def _slot(self, place: int) -> int:
        return self._index.setdefault(place, len(self._index))

    def counter(self, rule: Rule, attributes: Attributes, members: list[int]) -> None:
        places = tuple(self._slot(place) for place in members)
        self._counters.append(Counter(rule.signal, attributes, places, rule.scale))

    def histograms(self, rule: Rule, attributes: Attributes, members: list[int]) -> None:
        """Add one histogram for each set of edges among the members (instances may differ in their edges)."""
        rows: dict[str, list[tuple[float, int]]] = {}
        sums: dict[str, int] = {}
        counts: dict[str, int] = {}
        for place in members:
            series = self._layout.series[place]
            row = ",".join(f"{k}={v}" for k, v in sorted(series.labels.items()) if k != "le")
            if series.le is not None:
                rows.setdefault(row, []).append((series.le, place))
            elif series.name.endswith("_sum"):
                sums[row] = place
            elif series.name.endswith("_count"):
                counts[row] = place
        by_edges: dict[tuple[float, ...], list[str]] = {}
        for row, buckets in rows.items():
            buckets.sort()
            by_edges.setdefault(tuple(le for le, _ in buckets), []).append(row)
        for edges, names in by_edges.items():
            if not edges or edges[-1] != float("inf"):
                continue
            self._histograms.append(
                Histogram(
                    rule.signal,
                    attributes,
                    tuple(edge * rule.scale for edge in edges[:-1]),
                    tuple(tuple(self._slot(place) for _, place in rows[name]) for name in names),
                    tuple(self._slot(sums[name]) for name in names if name in sums),
                    tuple(self._slot(counts[name]) for name in names if name in counts),
                    rule.sum_as,
                    rule.count_as,
                    rule.scale,
                )
            )

    def shape(self, group: Group) -> tuple[Shape, tuple[int, ...]]:
        where = tuple(self._index)
        keys = tuple(self._layout.series[place].key for place in where)
        return Shape(group[0], group[1], keys, tuple(self._counters), tuple(self._histograms)), where


def _allowed(rule: Rule, series: Series) -> bool:
    return all(series.labels.get(label, "") in values for label, values in rule.where.items())


def _by_attributes(rule: Rule, places: list[int], layout: Layout) -> dict[Attributes, list[int]]:
    found: dict[Attributes, list[int]] = {}
    for place in places:
        labels = layout.series[place].labels
        attributes = tuple(
            sorted(
                (name, labels[label])
                for label, name in rule.by.items()
                if labels.get(label) is not None and labels[label] not in NOT_A_VALUE
            )
        )
        found.setdefault(attributes, []).append(place)
    return found


def _names_plan(rule: Rule, attributes: Attributes, members: list[int], layout: Layout) -> GaugePlan:
    label = next(iter(rule.facts))
    counts = tuple(
        len({name for name in layout.series[place].labels.get(label, "").split(",") if name}) for place in members
    )
    return GaugePlan((rule.signal, attributes), tuple(members), "newest", 1.0, None, counts)


def _facts(rule: Rule, series: Series) -> dict[str, str]:
    return {
        fact: series.labels[label]
        for label, fact in rule.facts.items()
        if series.labels.get(label) is not None and series.labels[label] not in NOT_A_VALUE
    }

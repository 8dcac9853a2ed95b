"""Compiles a dialect's rules against the layout of a page, so that reading a page is only picking values; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from signals.dialects.form import (
    COUNTER,
    GAUGE,
    HISTOGRAM,
    INFO,
    NAMES,
    VALUE,
    Dialect,
    Rule,
    allowed,
    normal,
    selector,
)
from signals.pages import Layout, LineError, Series
from signals.readings import Attributes, Counter, Histogram, Shape

#: Label values that mean "no value" in several engines.
NOT_A_VALUE = frozenset({"", "None", "none", "null", "undefined", "unknown"})
#: prometheus_client's multiprocess mode tells the processes of one engine apart by this label; only one has the value.
PROCESS_LABEL = "pid"
Group = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class GaugePlan:
    """Where a gauge's ranks stand on the page and how they become one number.

    `twins` are the sets of places that are one rank seen by several processes: the largest of each set counts.
    """

    name: tuple[str, Attributes]
    places: tuple[int, ...]
    over: str
    scale: float
    floor: float | None
    names_in: tuple[int, ...] = ()
    twins: tuple[tuple[int, ...], ...] = ()
    ceiling: float | None = None


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
    #: Facts that are values of the page: name and the places that are added up.
    values: tuple[tuple[str, tuple[int, ...]], ...] = ()


class Compiler:
    """Matches the series of one layout with the rules of one dialect."""

    def __init__(self, dialect: Dialect, model: str | None, role: str | None) -> None:
        self._dialect = dialect
        self._model = model
        self._role = role
        self._first_role: dict[str, str | None] = {}
        self._every_rank: dict[str, list[int]] = {}
        self._nameless: Group = (model, role)

    def compile(self, layout: Layout) -> Plan:
        kept = self._kept(layout)
        families, known = _families(layout, self._without_repeats(layout, kept))
        self._every_rank = _families(layout, kept)[0] if self._dialect.repeats else families
        groups = self._groups(layout)
        plans = []
        matched: set[str] = set()
        for group in groups:
            plan, names = self._group(group, groups, families, layout)
            plans.append(plan)
            matched |= names
        facts: dict[str, str] = {}
        amounts = []
        for rule in self._dialect.rules:
            if rule.kind == INFO:
                facts.update(_facts(rule, [layout.series[place] for place in self._places(rule, families, layout)]))
            elif rule.kind == VALUE and (places := self._places(rule, families, layout)):
                amounts.append((rule.signal, tuple(places)))
        start = next((i for i, s in enumerate(layout.series) if s.name == "process_start_time_seconds"), None)
        version = next((v for s in layout.series if (v := self._dialect.version(s))), None)
        ruled = {selector(raw)[0] for rule in self._dialect.rules for raw in rule.raw}
        ignored = {normal(name) for name in self._dialect.ignored}
        wild = tuple(name[:-1] for name in ignored if name.endswith("*"))
        unknown = tuple(
            sorted(
                name
                for name in known
                if name.startswith(self._dialect.prefixes)
                and name not in ruled | ignored
                and not (wild and name.startswith(wild))
                and not any(f"{name}_{part}" in ruled for part in ("sum", "count"))
            )
        )
        role = groups[0][1] if len(groups) == 1 else None
        missing = tuple(signal for signal in self._dialect.expected(role) if signal not in matched)
        return Plan(tuple(plans), version, facts, start, unknown, missing, layout.errors, tuple(amounts))

    def _kept(self, layout: Layout) -> list[int]:
        """Return the places of the series that count; creation times never do."""
        keep = self._dialect.keep
        return [
            place for place, series in enumerate(layout.series) if not series.name.endswith("_created") and keep(series)
        ]

    def _without_repeats(self, layout: Layout, kept: list[int]) -> list[int]:
        """Return `kept` without the series that repeat another rank's counts: the lowest rank is kept."""
        repeats = self._dialect.repeats
        if not repeats:
            return kept
        lowest: dict[tuple[str, Attributes], tuple[tuple[tuple[int, str], ...], int]] = {}
        for place in kept:
            series = layout.series[place]
            rank = tuple(_rank(series.labels.get(label, "")) for label in repeats)
            rest = tuple(sorted((k, v) for k, v in series.labels.items() if k not in repeats))
            held = lowest.get((series.name, rest))
            if held is None or rank < held[0]:
                lowest[(series.name, rest)] = (rank, place)
        return sorted(place for _, place in lowest.values())

    def _groups(self, layout: Layout) -> tuple[Group, ...]:
        """Return every (model, role) of the page; a page that names no model has one group.

        A series that names a model and no role belongs to the model's first role.
        """
        if self._dialect.gateway:
            return ((None, None),)
        found: dict[str, dict[str | None, None]] = {}
        nameless = False
        prefixes = self._dialect.prefixes
        naming = self._dialect.model_families
        if naming and any(normal(series.family).startswith(naming) for series in layout.series):
            prefixes = naming
        for series in layout.series:
            if normal(series.family).startswith(prefixes) and self._dialect.keep(series):
                model = self._model_of(series)
                if model is None:
                    nameless = True
                    continue
                roles = found.setdefault(model, {})
                role = self._role or self._dialect.role(series)
                if role is not None:
                    roles[role] = None
        default = self._role or self._dialect.default_role
        self._first_role = {model: next(iter(roles), default) for model, roles in found.items()}
        groups: list[Group] = [(model, role) for model, roles in found.items() for role in roles or (default,)]
        self._nameless = (self._model, default)
        if not groups or (nameless and self._dialect.modelless and self._nameless not in groups):
            groups.append(self._nameless)
        return tuple(groups)

    def _model_of(self, series: Series) -> str | None:
        for label in self._dialect.model_labels:
            value = series.labels.get(label)
            if value is not None and value not in NOT_A_VALUE:
                return value
        return None

    def _role_of(self, series: Series, model: str) -> str | None:
        return self._role or self._dialect.role(series) or self._first_role.get(model, self._dialect.default_role)

    def _group(
        self, group: Group, groups: tuple[Group, ...], families: dict[str, list[int]], layout: Layout
    ) -> tuple[GroupPlan, set[str]]:
        def belongs(place: int) -> bool:
            if self._dialect.gateway:
                return True
            series = layout.series[place]
            model = self._model_of(series)
            if model is None:
                return len(groups) == 1 or (self._dialect.modelless and group == self._nameless)
            return (model, self._role_of(series, model)) == group

        gauges: dict[tuple[str, Attributes], GaugePlan] = {}
        matched: set[str] = set()
        shaper = _Shaper(layout)
        for rule in self._dialect.rules:
            places = self._places(rule, families, layout, belongs) if rule.kind not in (INFO, VALUE) else []
            if not places:
                continue
            matched.add(rule.signal)
            for attributes, members in self._by_attributes(rule, places, layout).items():
                name = (rule.signal, attributes)
                if rule.kind == GAUGE:
                    earlier = gauges[name].places if name in gauges else ()
                    gauges[name] = _gauge_plan(rule, name, (*earlier, *members), layout)
                elif rule.kind == NAMES:
                    gauges[name] = _names_plan(rule, attributes, members, layout)
                elif rule.kind == COUNTER:
                    shaper.counter(rule, attributes, members)
                elif rule.kind == HISTOGRAM:
                    shaper.histograms(rule, attributes, members)
                    matched.update(name for name in (rule.sum_as, rule.count_as) if name)
        shape, where = shaper.shape(group, self._dialect.private)
        return GroupPlan(shape, where, tuple(gauges.values())), matched

    def _places(
        self,
        rule: Rule,
        families: dict[str, list[int]],
        layout: Layout,
        belongs: Callable[[int], bool] | None = None,
    ) -> list[int]:
        """Return the places of the first alias that this page has."""
        if any(selector(raw)[0] in families for raw in rule.unless):
            return []
        for raw in rule.raw:
            family, conditions = selector(raw)
            wanted = (*conditions, *rule.where.items())
            found = [
                place
                for place in (self._every_rank if rule.every_rank else families).get(family, ())
                if allowed(wanted, layout.series[place].labels) and (belongs is None or belongs(place))
            ]
            if found:
                return found
        return []

    def _by_attributes(self, rule: Rule, places: list[int], layout: Layout) -> dict[Attributes, list[int]]:
        found: dict[Attributes, list[int]] = {}
        for place in places:
            labels = layout.series[place].labels
            named = {
                name: value
                for label, name in rule.by.items()
                if labels.get(label, "") not in NOT_A_VALUE
                and (value := self._dialect.attribute(name, labels[label])) not in NOT_A_VALUE
            }
            found.setdefault(tuple(sorted({**rule.attributes, **named}.items())), []).append(place)
        return found


def _families(layout: Layout, places: list[int]) -> tuple[dict[str, list[int]], set[str]]:
    """Return the places of each family and of each part (`x_sum`) under its own name, and the families' names."""
    families: dict[str, list[int]] = {}
    parts: dict[str, list[int]] = {}
    for place in places:
        series = layout.series[place]
        families.setdefault(normal(series.family), []).append(place)
        if series.name != series.family:
            parts.setdefault(normal(series.name), []).append(place)
    known = set(families)
    families.update((name, found) for name, found in parts.items() if name not in known)
    return families, known


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
        scale = rule.scale / len(places) if rule.over == "mean" else rule.scale
        self._counters.append(Counter(rule.signal, attributes, places, scale))

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

    def shape(self, group: Group, private: tuple[str, ...]) -> tuple[Shape, tuple[int, ...]]:
        where = tuple(self._index)
        keys = tuple(_memory_key(self._layout.series[place], private) for place in where)
        return Shape(group[0], group[1], keys, tuple(self._counters), tuple(self._histograms)), where


def _memory_key(series: Series, private: tuple[str, ...]) -> str:
    """Return what a series is remembered by between two pages: its text, or a digest where that names people."""
    if not any(label in series.labels for label in private):
        return series.key
    return f"{series.name}#{blake2b(series.key.encode(), digest_size=12).hexdigest()}"


def _rank(label: str) -> tuple[int, str]:
    """Return what a rank label sorts by: as a number where it is one."""
    return (int(label), "") if label.isdigit() else (-1 if not label else 1 << 30, label)


def _gauge_plan(rule: Rule, name: tuple[str, Attributes], places: tuple[int, ...], layout: Layout) -> GaugePlan:
    return GaugePlan(
        name, places, rule.over, rule.scale, rule.floor, twins=_twins(places, layout), ceiling=rule.ceiling
    )


def _twins(members: tuple[int, ...], layout: Layout) -> tuple[tuple[int, ...], ...]:
    """Return the members as sets that differ in the process label only; () where no series has it."""
    if not any(PROCESS_LABEL in layout.series[place].labels for place in members):
        return ()
    sets: dict[tuple[str, ...], list[int]] = {}
    for place in members:
        series = layout.series[place]
        rest = (series.name, *sorted(f"{k}={v}" for k, v in series.labels.items() if k != PROCESS_LABEL))
        sets.setdefault(rest, []).append(place)
    return tuple(tuple(places) for places in sets.values())


def _names_plan(rule: Rule, attributes: Attributes, members: list[int], layout: Layout) -> GaugePlan:
    label = next(iter(rule.facts))
    counts = tuple(
        len({name for name in layout.series[place].labels.get(label, "").split(",") if name}) for place in members
    )
    return GaugePlan((rule.signal, attributes), tuple(members), "newest", 1.0, None, counts)


def _facts(rule: Rule, members: list[Series]) -> dict[str, str]:
    """Return the facts in the labels of an info family; ranks that differ add up where the rule says so."""
    found: dict[str, list[str]] = {}
    for series in members:
        for label, fact in rule.facts.items():
            value = series.labels.get(label, "")
            if value not in NOT_A_VALUE:
                found.setdefault(fact, []).append(value)
    return {fact: _total(values) if fact in rule.adds else values[-1] for fact, values in found.items()}


def _total(values: list[str]) -> str:
    try:
        return f"{sum(map(float, values)):.15g}" if len(values) > 1 else values[0]
    except ValueError:
        return values[-1]

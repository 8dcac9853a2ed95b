"""Reads a page through a dialect: the rules are compiled once a layout, then only values are picked; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from weakref import WeakKeyDictionary

from signals.dialects.compiler import Compiler, GaugePlan, Plan
from signals.dialects.form import Dialect
from signals.pages import Layout, Page
from signals.readings import PageReading, Reading

#: Unix time within 6 % from 2023 to 2030: enough to tell a sum of up to eight processes' times from one time.
UNIX_TIME = 1.8e9
#: Compiled plans by layout, shared by the targets whose pages have one shape.
_PLANS: WeakKeyDictionary[Layout, list[tuple[Dialect, str | None, str | None, Plan]]] = WeakKeyDictionary()


@dataclass(slots=True)
class PageReader:
    """Reads pages of one target. `model` names the model of engines whose series carry no label for it."""

    dialect: Dialect
    model: str | None = None
    role: str | None = None
    _latest: tuple[Layout, Plan] | None = None

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
        return PageReading(self.dialect.engine, plan.version, start, readings, _all_facts(plan, values))

    def plan(self, layout: Layout) -> Plan:
        """Return the compiled plan of a layout (kept while the layout is)."""
        if self._latest is not None and self._latest[0] is layout:
            return self._latest[1]
        kept = _PLANS.setdefault(layout, [])
        found = next((p for d, m, r, p in kept if d is self.dialect and (m, r) == (self.model, self.role)), None)
        if found is None:
            found = Compiler(self.dialect, self.model, self.role).compile(layout)
            if self._latest is not None:
                found = _with_known_shapes(found, self._latest[1])
            kept.append((self.dialect, self.model, self.role, found))
        self._latest = (layout, found)
        return found


def _moment(value: float) -> float:
    """Return the Unix time in a value that may be the sum of several processes' times (a multiprocess page adds up)."""
    return value / max(1, round(value / UNIX_TIME)) if isfinite(value) else 0.0


def _with_known_shapes(plan: Plan, earlier: Plan) -> Plan:
    """Return a plan whose unchanged shapes are the earlier plan's own: a new gauge must not look like new counters."""
    shapes = {group.shape.keys: group.shape for group in earlier.groups}
    groups = tuple(
        replace(group, shape=known)
        if (known := shapes.get(group.shape.keys)) is not None and known == group.shape
        else group
        for group in plan.groups
    )
    return replace(plan, groups=groups)


def _gauge(plan: GaugePlan, values: list[float]) -> float | None:
    if plan.names_in:
        newest = max(range(len(plan.places)), key=lambda i: _moment(values[plan.places[i]]))
        return float(plan.names_in[newest])
    raw = (
        [max(values[place] for place in places) for places in plan.twins]
        if plan.twins
        else [values[place] for place in plan.places]
    )
    found = [
        value
        for value in raw
        if isfinite(value)
        and (plan.floor is None or value >= plan.floor)
        and (plan.ceiling is None or value < plan.ceiling)
    ]
    if not found:
        return None
    if plan.over == "max":
        return max(found) * plan.scale
    if plan.over == "first":
        return found[0] * plan.scale
    total = sum(found) * plan.scale
    return total / len(found) if plan.over == "mean" else total


def _all_facts(plan: Plan, values: list[float]) -> Mapping[str, str]:
    if not plan.values:
        return plan.facts
    facts = dict(plan.facts)
    for name, places in plan.values:
        found = [values[place] for place in places if isfinite(values[place])]
        if found:
            facts[name] = f"{sum(found):.15g}"
    return facts

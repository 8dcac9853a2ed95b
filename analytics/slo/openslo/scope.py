"""Reads filters and breakdowns of a metric source or an exclusion into dimensions; reports what is no dimension."""

from __future__ import annotations

from analytics.slo.objective import DIMENSIONS
from analytics.slo.openslo.fault import Fault
from analytics.slo.openslo.node import Node
from signals.errors import nearest
from signals.lengths import LENGTH_BUCKETS

Filters = dict[str, tuple[str, ...]]


def read_filters(node: Node | None, faults: list[Fault]) -> Filters:
    """Return {dimension: allowed values} of a `filters` mapping."""
    if node is None:
        return {}
    if node.kind != "map":
        faults.append(node.fault(f"must be a mapping of {', '.join(DIMENSIONS)} to a value or a list"))
        return {}
    found: Filters = {}
    for name, line, value in node.entries:
        if name not in DIMENSIONS:
            faults.append(node.fault(f"unknown dimension{nearest(name, DIMENSIONS)}", key=name, line=line))
            continue
        if value.kind in ("map", "null") or any(item.kind in ("map", "list", "null") for item in value.items):
            faults.append(value.fault("must be a value or a list of values"))
            continue
        values = value.texts()
        if not values:
            faults.append(value.fault("must not be empty"))
            continue
        if name == "length_bucket":
            faults.extend(
                value.fault(f"unknown length bucket {one!r}{nearest(one, LENGTH_BUCKETS)}")
                for one in values
                if one not in LENGTH_BUCKETS
            )
        found[name] = values
    return found


def read_by(node: Node | None, filters: Filters, faults: list[Fault]) -> tuple[str, ...]:
    """Return the breakdown: as given, else by model and by every dimension that is filtered to one value."""
    if node is None:
        single = [name for name in DIMENSIONS if len(filters.get(name, ())) == 1]
        return tuple(dict.fromkeys(("model", *single)))
    names = [name for name in node.texts() if name]
    faults.extend(
        node.fault(f"unknown dimension {name!r}{nearest(name, DIMENSIONS)}") for name in names if name not in DIMENSIONS
    )
    return tuple(dict.fromkeys(name for name in DIMENSIONS if name in names))

"""Reads Exclusion documents: which requests are left out, from when to when, who decided it and why."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from analytics.slo.exclusion import Exclusion
from analytics.slo.openslo.fault import Fault
from analytics.slo.openslo.node import Node
from analytics.slo.openslo.scope import read_filters
from signals.errors import nearest


def read_exclusion(document: Node, objectives: Iterable[str], faults: list[Fault]) -> tuple[Exclusion, frozenset[str]]:
    """Return the exclusion and the names of the objectives that it is for (none named = all)."""
    spec = document.get("spec") or document
    start, end = read_moment(spec.get("from"), faults), read_moment(spec.get("to"), faults)
    if start is not None and end is not None and not start < end:
        faults.append(spec.fault("must be later than from", key="to"))
    only = read_filters(spec.get("filters"), faults)
    if not only and (spec.get("from") is None or spec.get("to") is None):
        faults.append(spec.fault("needs filters, or both from and to: it would leave out everything", key="filters"))
    named = spec.get("objectives")
    names = () if named is None else named.texts()
    known = set(objectives)
    if named is not None:
        faults.extend(
            named.fault(f"no objective is called {name!r}{nearest(name, known)}") for name in names if name not in known
        )
    texts = {key: node.text if (node := spec.get(key)) is not None else "" for key in ("reason", "decidedBy")}
    name = document.at("metadata", "name")
    exclusion = Exclusion("" if name is None else name.text, texts["reason"], texts["decidedBy"], start, end, only)
    return exclusion, frozenset(names)


def read_moment(node: Node | None, faults: list[Fault]) -> datetime | None:
    """Return a time with its zone; None where there is none, or a fault."""
    if node is None:
        return None
    try:
        moment = datetime.fromisoformat(node.text)
    except ValueError:
        faults.append(node.fault("must be a time such as 2026-03-01T12:00:00Z"))
        return None
    if moment.tzinfo is None:
        faults.append(node.fault("needs a time zone, such as Z at its end"))
        return None
    return moment

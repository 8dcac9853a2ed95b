"""Reads Silence documents: which alerts are held back, from when to when, who decided it and why."""

from __future__ import annotations

from analytics.slo.openslo.excluded import read_moment
from analytics.slo.openslo.fault import Fault
from analytics.slo.openslo.node import Node
from analytics.slo.silence import MATCHABLE, Silence
from signals.errors import nearest


def read_silence(document: Node, faults: list[Fault]) -> Silence | None:
    """Return the silence of a document; None (and faults) where it is not complete."""
    spec = document.get("spec") or document
    start, end = read_moment(spec.get("from"), faults), read_moment(spec.get("to"), faults)
    if start is not None and end is not None and not start < end:
        faults.append(spec.fault("must be later than from", key="to"))
        return None
    match = spec.get("match")
    if match is None or start is None or end is None:
        return None
    if match.kind != "map" or not match.entries:
        faults.append(
            match.fault(f"must be a mapping of {', '.join(MATCHABLE)} to a value: it would silence everything")
        )
        return None
    found: dict[str, str] = {}
    for name, line, value in match.entries:
        if name not in MATCHABLE:
            faults.append(match.fault(f"unknown label{nearest(name, MATCHABLE)}", key=name, line=line))
        elif value.kind not in ("string", "number", "bool"):
            faults.append(value.fault("must be one value"))
        else:
            found[name] = value.text
    texts = {key: node.text if (node := spec.get(key)) is not None else "" for key in ("reason", "decidedBy")}
    return Silence(found, start, end, texts["decidedBy"], texts["reason"])

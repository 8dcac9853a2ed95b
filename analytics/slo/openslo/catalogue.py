"""Reads a set of YAML files into objectives and every fault found in them; opens no file itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from analytics.slo.exclusion import Exclusion
from analytics.slo.objective import Objective
from analytics.slo.openslo.conform import document_faults
from analytics.slo.openslo.excluded import read_exclusion
from analytics.slo.openslo.fault import Fault
from analytics.slo.openslo.node import Node, read_nodes
from analytics.slo.openslo.schema import KINDS
from analytics.slo.openslo.service_level import objective_names, read_slo
from analytics.slo.openslo.silenced import read_silence
from analytics.slo.silence import Silence

#: RFC 1123 names, as OpenSLO asks for.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The objectives of a set of files, in order of name, their silences, and everything that is wrong, by place."""

    objectives: tuple[Objective, ...]
    faults: tuple[Fault, ...]
    silences: tuple[Silence, ...] = ()


def read_documents(files: Iterable[tuple[str, str | bytes]]) -> Catalogue:
    """Return what (name, text) files say. Any text at all: what cannot be read becomes a fault, never an exception."""
    faults: list[Fault] = []
    shelf: dict[str, dict[str, Node]] = {kind: {} for kind in KINDS}
    broken: dict[int, tuple[Fault, ...]] = {}
    for name, text in files:
        nodes, unreadable = read_nodes(name, text)
        faults += unreadable
        for document in nodes:
            own = (*document_faults(document), *_name_faults(document))
            faults += own
            broken[id(document)] = own
            _file_away(document, shelf, faults)
    named = [name for document in shelf["SLO"].values() for name in objective_names(document)]
    exclusions: list[tuple[Exclusion, frozenset[str]]] = []
    for document in shelf["Exclusion"].values():
        meaning: list[Fault] = []
        found = read_exclusion(document, named, meaning)
        faults += _not_said_yet(meaning, broken[id(document)])
        if not meaning and not broken[id(document)]:
            exclusions.append(found)
    silences: list[Silence] = []
    for document in shelf["Silence"].values():
        meaning = []
        silence = read_silence(document, meaning)
        faults += _not_said_yet(meaning, broken[id(document)])
        if silence is not None and not meaning and not broken[id(document)]:
            silences.append(silence)
    objectives: list[Objective] = []
    for document in shelf["SLO"].values():
        names = set(objective_names(document))
        kept = [one for one, wanted in exclusions if not wanted or wanted & names]
        meaning = []
        said = broken[id(document)]
        understood = read_slo(document, shelf, kept, meaning)
        faults += _not_said_yet(meaning, said)
        objectives += () if said else understood
    ordered = tuple(sorted(objectives, key=lambda one: one.name))
    return Catalogue(ordered, tuple(sorted(set(faults))), tuple(silences))


def _not_said_yet(meaning: list[Fault], form: tuple[Fault, ...]) -> list[Fault]:
    """Leave out faults of meaning that a fault of form in the same mapping, or above it, already explains."""
    spoilt = {(fault.file, fault.key) for fault in form}
    mappings = {(fault.file, _above(fault.key)) for fault in form}
    return [
        fault
        for fault in meaning
        if (fault.file, _above(fault.key)) not in mappings
        and not any((fault.file, above) in spoilt for above in _chain(fault.key))
    ]


def _above(key: str) -> str:
    return key.rpartition(".")[0]


def _chain(key: str) -> list[str]:
    """Return a key and everything above it."""
    found = [key]
    while key:
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
        found.append(key)
    return found


def _name_faults(document: Node) -> list[Fault]:
    name = document.at("metadata", "name")
    if name is None or name.kind in ("map", "list", "null") or _NAME.fullmatch(name.text):
        return []
    return [name.fault("must be at most 63 lower-case letters, digits and dashes, as OpenSLO asks")]


def _file_away(document: Node, shelf: dict[str, dict[str, Node]], faults: list[Fault]) -> None:
    """Keep a document under its kind and name; a second one of the same name is a fault."""
    kind, name = document.get("kind"), document.at("metadata", "name")
    if kind is None or kind.text not in KINDS or name is None or name.kind in ("map", "list", "null"):
        return
    first = shelf[kind.text].setdefault(name.text, document)
    if first is not document:
        faults.append(name.fault(f"{kind.text} {name.text!r} is given twice, first in {first.file}:{first.line}"))

"""Reads YAML text into nodes that remember their line and key; gives no value a meaning, never raises on bad text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from analytics.slo.openslo.fault import Fault

#: Deeper than any OpenSLO document, shallow enough for a recursive walk.
MAX_DEPTH = 40
#: Aliases can repeat a node for ever; no hand-written file comes near this many.
MAX_NODES = 20_000
_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class Node:
    """A mapping, a list or a scalar. `kind` is map, list, string, number, bool, null or other.

    `line` is where the value stands, `opened` where its key does: a missing key is missing from there.
    """

    file: str
    line: int
    opened: int
    key: str
    kind: str
    text: str = ""
    entries: tuple[tuple[str, int, Node], ...] = ()
    items: tuple[Node, ...] = ()

    def get(self, name: str) -> Node | None:
        """Return the value of the first entry called `name`."""
        return next((value for key, _, value in self.entries if key == name), None)

    def at(self, *names: str) -> Node | None:
        """Return the value below a path of names, None where any is missing."""
        found: Node | None = self
        for name in names:
            found = None if found is None else found.get(name)
        return found

    def fault(self, message: str, *, key: str = "", line: int | None = None) -> Fault:
        """Return a fault at this node, at its entry `key` on `line`, or of a missing `key` where this mapping opens."""
        where = (self.opened if key else self.line) if line is None else line
        return Fault(self.file, where, join(self.key, key) or "document", message)

    def number(self) -> float | None:
        """Return a number's value; None for anything else (also for .nan)."""
        if self.kind != "number":
            return None
        try:
            value = float(self.text.replace("_", ""))
        except ValueError:
            return None
        return None if value != value else value

    def texts(self) -> tuple[str, ...]:
        """Return a scalar's text, or every scalar's of a list."""
        if self.kind == "list":
            return tuple(item.text for item in self.items)
        return (self.text,)


def join(path: str, name: str) -> str:
    """Return a dotted path."""
    return f"{path}.{name}" if path and name else path or name


def read_nodes(file: str, text: str | bytes) -> tuple[list[Node], list[Fault]]:
    """Return the documents of a YAML file, empty ones left out, and what keeps it from being read."""
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return [], [Fault(file, line, "document", f"is not UTF-8: byte {error.start}")]
    nodes: list[Node] = []
    try:
        roots = yaml.compose_all(decoded, Loader=yaml.SafeLoader)
        nodes.extend(_Walk(file).node(root, "", 0) for root in roots if root is not None)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        return nodes, [Fault(file, line, "document", f"is not YAML: {problem}")]
    except _TooBigError as error:
        return nodes, [Fault(file, error.line, "document", str(error))]
    except RecursionError:
        return nodes, [Fault(file, 1, "document", f"is nested deeper than {MAX_DEPTH} levels")]
    return nodes, []


def repeated(node: Node) -> Iterator[Fault]:
    """Yield a fault for each key that a mapping gives twice."""
    seen: dict[str, int] = {}
    for key, line, _ in node.entries:
        if key in seen:
            yield node.fault(f"is given twice, first on line {seen[key]}", key=key, line=line)
        seen.setdefault(key, line)


class _TooBigError(Exception):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class _Walk:
    """Turns composed YAML into nodes, counting them."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._count = 0

    def node(self, found: yaml.Node, key: str, depth: int, key_line: int = 0) -> Node:
        line = found.start_mark.line + 1
        opened = key_line or line
        self._count += 1
        if depth > MAX_DEPTH:
            raise _TooBigError(line, f"is nested deeper than {MAX_DEPTH} levels")
        if self._count > MAX_NODES:
            raise _TooBigError(line, f"has more than {MAX_NODES} values (aliases repeat them)")
        if isinstance(found, yaml.MappingNode):
            entries = []
            for name, value in found.value:
                label = name.value if isinstance(name, yaml.ScalarNode) else "?"
                name_line = name.start_mark.line + 1
                entries.append((label, name_line, self.node(value, join(key, label), depth + 1, name_line)))
            return Node(self._file, line, opened, key, "map", entries=tuple(entries))
        if isinstance(found, yaml.SequenceNode):
            items = [self.node(item, f"{key}[{place}]", depth + 1) for place, item in enumerate(found.value)]
            return Node(self._file, line, opened, key, "list", items=tuple(items))
        return Node(self._file, line, opened, key, _kind(found.tag), text=str(found.value))


def _kind(tag: str) -> str:
    name = tag.removeprefix(_TAG)
    if name in ("int", "float"):
        return "number"
    return {"str": "string", "bool": "bool", "null": "null", "timestamp": "string"}.get(name, "other")

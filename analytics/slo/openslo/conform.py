"""Compares a document with the schema: unknown, missing and repeated keys, wrong shapes; knows no meaning."""

from __future__ import annotations

from collections.abc import Iterator

from analytics.slo.openslo.fault import Fault
from analytics.slo.openslo.node import Node, repeated
from analytics.slo.openslo.schema import (
    ANNOTATION_PREFIX,
    ANNOTATIONS,
    API_VERSION,
    KINDS,
    OUR_API_VERSION,
    OUR_KINDS,
    Field,
)
from signals.errors import nearest

_SCALARS = ("string", "number", "bool")


def document_faults(document: Node) -> Iterator[Fault]:
    """Yield every fault of one document's form; nothing when it conforms."""
    if document.kind != "map":
        yield document.fault(f"a document is a mapping with apiVersion, kind, metadata and spec, not a {document.kind}")
        return
    kind = document.get("kind")
    if kind is None:
        yield document.fault(f"is missing; one of {', '.join(KINDS)}", key="kind")
        yield from _keys(document, KINDS["Service"], known_spec=False)
        return
    if kind.text not in KINDS:
        yield kind.fault(f"unknown kind {kind.text!r}{nearest(kind.text, KINDS)}")
        return
    version, expected = document.get("apiVersion"), OUR_API_VERSION if kind.text in OUR_KINDS else API_VERSION
    if version is not None and version.text != expected:
        yield version.fault(f"must be {expected} for kind {kind.text}, not {version.text!r}")
    yield from _keys(document, KINDS[kind.text])


def _keys(node: Node, wanted: Field, *, known_spec: bool = True) -> Iterator[Fault]:
    yield from repeated(node)
    meant: set[str] = set()
    for name, line, value in node.entries:
        if name not in wanted.keys:
            meant |= {key for key in wanted.keys if f"{key!r}?" in nearest(name, wanted.keys)}
            yield node.fault(f"unknown key{nearest(name, wanted.keys)}", key=name, line=line)
        elif known_spec or name != "spec":
            yield from _value(value, wanted.keys[name])
            if name == "annotations":
                yield from _annotations(value)
    for name, inner in wanted.keys.items():
        if name in meant or not inner.required or node.get(name) is not None:
            continue
        if known_spec or name not in ("kind", "spec"):
            yield node.fault(f"is missing{_one_of(inner)}", key=name)


def _value(value: Node, wanted: Field) -> Iterator[Fault]:
    shape = wanted.shape
    if shape == "free":
        if value.kind == "map":
            yield from repeated(value)
    elif shape == "map":
        if value.kind == "map":
            yield from _keys(value, wanted)
        else:
            yield value.fault(f"must be a mapping{_of(wanted)}, not {_a(value)}")
    elif shape == "list":
        if value.kind != "list":
            yield value.fault(f"must be a list, not {_a(value)}")
        elif not value.items:
            yield value.fault("must not be empty")
        else:
            for item in value.items:
                yield from _value(item, wanted.item or Field("free"))
    elif shape == "scalars":
        if value.kind not in (*_SCALARS, "list") or any(item.kind not in _SCALARS for item in value.items):
            yield value.fault("must be one name or a list of names")
    else:
        yield from _scalar(value, wanted)


def _scalar(value: Node, wanted: Field) -> Iterator[Fault]:
    if wanted.shape == "number" and value.number() is None:
        yield value.fault(f"must be a number, not {_a(value)}")
    elif wanted.shape == "bool" and value.kind != "bool":
        yield value.fault(f"must be true or false, not {_a(value)}")
    elif wanted.shape == "string" and (value.kind not in _SCALARS or not value.text.strip()):
        yield value.fault(f"must be text, not {_a(value)}")
    elif wanted.values and value.text not in wanted.values:
        yield value.fault(f"unknown value {value.text!r}{nearest(value.text, wanted.values)}")


def _annotations(value: Node) -> Iterator[Fault]:
    """Yield unknown annotations of ours and annotations that are no text; other people's are left alone."""
    if value.kind != "map":
        yield value.fault(f"must be a mapping of names to text, not {_a(value)}")
    for name, line, inner in value.entries:
        if name.startswith(ANNOTATION_PREFIX) and name not in ANNOTATIONS:
            yield value.fault(f"unknown annotation{nearest(name, ANNOTATIONS)}", key=name, line=line)
        elif inner.kind not in _SCALARS:
            yield inner.fault(f"an annotation is text, not {_a(inner)}")


def _a(value: Node) -> str:
    if value.kind in ("map", "list", "null"):
        return {"map": "a mapping", "list": "a list", "null": "nothing"}[value.kind]
    return repr(value.text[:60])


def _of(wanted: Field) -> str:
    return f" with {', '.join(wanted.keys)}" if wanted.keys else ""


def _one_of(wanted: Field) -> str:
    return f"; one of {', '.join(wanted.values)}" if wanted.values else ""

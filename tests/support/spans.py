"""Recorded OTLP trace bodies as plain spans; tests/data/pages/ORIGINS.md says what each recording is."""

from __future__ import annotations

import tarfile

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from signals.spans import Scalar, Span
from tests.support.pages import PAGES


def bodies(name: str) -> list[bytes]:
    """Return the recorded request bodies of one run, in order."""
    with tarfile.open(PAGES / "spans" / f"{name}.tar.gz") as archive:
        members = sorted(archive.getmembers(), key=lambda member: member.name)
        return [file.read() for member in members if (file := archive.extractfile(member)) is not None]


def spans_of(body: bytes) -> list[Span]:
    """Return every span of one body, with its text, number and boolean attributes and lists as text."""
    message = ExportTraceServiceRequest()
    message.ParseFromString(body)
    return [
        Span(
            span.name,
            span.trace_id.hex(),
            span.span_id.hex(),
            span.parent_span_id.hex(),
            span.start_time_unix_nano,
            span.end_time_unix_nano,
            span.kind,
            span.status.code,
            scope.scope.name,
            _attributes(list(span.attributes)),
            _attributes(list(resource.resource.attributes)),
        )
        for resource in message.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _attributes(pairs: list[KeyValue]) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {}
    for pair in pairs:
        kind = pair.value.WhichOneof("value")
        if kind in {"string_value", "int_value", "double_value", "bool_value"}:
            found[pair.key] = getattr(pair.value, kind)
    return found

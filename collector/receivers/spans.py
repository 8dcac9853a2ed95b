"""Decodes OTLP traces into spans in plain words; message text, e-mails, addresses and key hashes stop here."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

from signals.errors import PayloadError
from signals.spans import Scalar, Span

#: Beginnings and ends of attribute names that may hold what people wrote, or who they are.
PRIVATE_PREFIXES = ("gen_ai.input", "gen_ai.output", "gen_ai.prompt", "gen_ai.completion", "gen_ai.system_instructions",
                    "llm.prompts", "llm.completions", "traceloop.entity", "error.stack_trace", "exception.")  # fmt: skip
PRIVATE_SUFFIXES = (".messages", ".message", ".choices", ".prompt_text", ".prompt", ".content", "_email", "_hash",
                    ".hash", "ip_address", "client_ip", ".headers", "requester_metadata", "user_agent",
                    "_raw_response", ".input", ".output")  # fmt: skip
#: Longer text is never an id, a name or a number.
MAX_TEXT = 512


def parse_traces(body: bytes) -> ExportTraceServiceRequest:
    """Return the message of an OTLP protobuf body; PayloadError when it is none."""
    message = ExportTraceServiceRequest()
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        raise PayloadError(f"body of {len(body)} bytes is no OTLP trace request: {error}") from error
    return message


def spans_of(resource_spans: ResourceSpans) -> list[Span]:
    """Return every span of one resource."""
    resource = plain_attributes(resource_spans.resource.attributes)
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
            plain_attributes(span.attributes),
            resource,
        )
        for scope in resource_spans.scope_spans
        for span in scope.spans
    ]


def plain_attributes(pairs: Iterable[KeyValue]) -> dict[str, Scalar]:
    """Return the attributes that are scalars and private to nobody; a list of one text is that text."""
    found: dict[str, Scalar] = {}
    for pair in pairs:
        if is_private(pair.key):
            continue
        value = _scalar(pair.value)
        if value is not None and not (isinstance(value, str) and len(value) > MAX_TEXT):
            found[pair.key] = value
    return found


def is_private(name: str) -> bool:
    """Return whether an attribute may hold prompts, outputs or personal data."""
    return name.startswith(PRIVATE_PREFIXES) or name.endswith(PRIVATE_SUFFIXES)


def _scalar(value: AnyValue) -> Scalar | None:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return value.string_value
    if kind == "int_value":
        return value.int_value
    if kind == "double_value":
        return value.double_value
    if kind == "bool_value":
        return value.bool_value
    if kind == "array_value" and len(value.array_value.values) == 1:
        return _scalar(value.array_value.values[0])
    return None

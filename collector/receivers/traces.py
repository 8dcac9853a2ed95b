"""Turns OTLP spans into request halves and instance lives; never keeps message text, and never joins anything."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans
from opentelemetry.proto.trace.v1.trace_pb2 import Span as OtlpSpan

from collector.receivers.startup import startup_batch
from collector.store.batch import HalfBatch, TableBatch
from signals import wire
from signals.dialects import registry
from signals.errors import PayloadError
from signals.privacy import keeps
from signals.records import Identity
from signals.spans import RequestHalf, Scalar, Span


@dataclass(frozen=True, slots=True)
class DecodedSpans:
    """What one ResourceSpans says: its batch, all its spans in plain words, how many were unusable and why."""

    batch: HalfBatch
    spans: tuple[Span, ...]
    rejected: int = 0
    why: str | None = None


@dataclass(slots=True)
class DecodedTraces:
    """Halves and phases of starts in one request, and what had to be refused: spans, and why the first of them."""

    batches: list[HalfBatch] = field(default_factory=list)
    rejected: int = 0
    why: str | None = None
    starts: list[TableBatch] = field(default_factory=list)


def parse_spans(body: bytes) -> ExportTraceServiceRequest:
    """Return the message of an OTLP protobuf body; PayloadError when it is none."""
    message = ExportTraceServiceRequest()
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        raise PayloadError(f"body of {len(body)} bytes is no OTLP trace request: {error}") from error
    return message


def decode_traces(message: ExportTraceServiceRequest, peer: str) -> DecodedTraces:
    """Return the batches of a request; a ResourceSpans without anything about requests needs no batch."""
    decoded = DecodedTraces()
    for resource in message.resource_spans:
        try:
            found = decode_spans(resource, peer)
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            decoded.rejected += sum(len(scope.spans) for scope in resource.scope_spans) or 1
            decoded.why = decoded.why or f"a ResourceSpans cannot be read: {error}"
            continue
        decoded.rejected += found.rejected
        decoded.why = decoded.why or found.why
        if found.batch.halves or found.batch.empty:
            decoded.batches.append(found.batch)
        start = startup_batch(found.batch.identity, found.spans)
        if start is not None:
            decoded.starts.append(start)
    return decoded


def decode_spans(message: ResourceSpans, peer: str) -> DecodedSpans:
    """Return the halves of one ResourceSpans; `peer` names a sender that does not name itself."""
    resource = scalars(message.resource.attributes)
    spans = []
    rejected = 0
    why = None
    for scope in message.scope_spans:
        for span in scope.spans:
            fault = _fault(span)
            if fault is not None:
                rejected += 1
                why = why or fault
                continue
            spans.append(plain_span(span, scope.scope.name, resource))
    found = registry.request_halves(spans)
    halves = tuple(half for half in found if not _says_nothing(half))
    identity = identity_of(resource, message, peer)
    return DecodedSpans(HalfBatch(identity, halves, len(found) - len(halves)), tuple(spans), rejected, why)


def _says_nothing(half: RequestHalf) -> bool:
    """Return whether an engine half carries no latency, no length and no id: its span came without attributes."""
    known = (half.ttft_seconds, half.e2e_seconds, half.queue_seconds, half.input_tokens, half.output_tokens, half.match)
    return half.side == "engine" and all(value is None for value in known)


def plain_span(span: OtlpSpan, scope: str, resource: dict[str, Scalar]) -> Span:
    """Return one OTLP span in plain words, without what is private."""
    return Span(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        span.kind,
        span.status.code,
        scope,
        scalars(span.attributes),
        resource,
    )


def scalars(pairs: Iterable[KeyValue]) -> dict[str, Scalar]:
    """Return text, number and boolean attributes; what may hold message text or names a person is left out."""
    found: dict[str, Scalar] = {}
    for pair in pairs:
        value = scalar(pair.value)
        if value is not None and keeps(pair.key, value if isinstance(value, str) else None):
            found[pair.key] = value
    return found


def scalar(value: AnyValue) -> Scalar | None:
    """Return the text, number or boolean of a value; a list of texts as a JSON-like text of them."""
    kind = value.WhichOneof("value")
    if kind in {"string_value", "int_value", "double_value", "bool_value"}:
        plain: Scalar = getattr(value, kind)
        return plain
    if kind == "array_value":
        words = [item.string_value for item in value.array_value.values if item.HasField("string_value")]
        return "[" + ", ".join(f'"{word}"' for word in words) + "]" if words else None
    return None


def identity_of(resource: dict[str, Scalar], message: ResourceSpans, peer: str) -> Identity:
    """Return the batch's name: the agent's own, else the hash of what was sent, so that a resent batch is known."""
    agent, epoch, sequence = (resource.get(name) for name in (wire.AGENT, wire.EPOCH, wire.SEQUENCE))
    if agent is not None and epoch is not None and str(sequence).isdigit():
        return Identity(str(agent), str(epoch), int(str(sequence)))
    sender = resource.get("service.instance.id") or peer
    digest = hashlib.sha256(message.SerializeToString(deterministic=True)).hexdigest()
    return Identity(f"otlp:{sender}", digest, 0)


def _fault(span: OtlpSpan) -> str | None:
    if len(span.trace_id) != 16 or len(span.span_id) != 8:
        return f"span {span.name[:80]!r} has a trace id of {len(span.trace_id)} bytes and an id of {len(span.span_id)}"
    if span.start_time_unix_nano == 0 or span.end_time_unix_nano < span.start_time_unix_nano:
        return f"span {span.name[:80]!r} ends before it starts"
    if span.end_time_unix_nano >= 1 << 63:
        return f"span {span.name[:80]!r} has a time beyond the year 2262"
    return None

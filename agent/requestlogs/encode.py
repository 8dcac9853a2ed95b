"""Encodes request halves as OTLP ResourceSpans (protobuf) in the collector's own form; never decides what is sent."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

from agent.encode import Batch, identity_attributes
from agent.protobuf import FIXED64, VARINT, block, key_values, tag, text, varint
from signals import wire
from signals.dialects.canonical_requests import span_of
from signals.records import Identity
from signals.spans import RequestHalf, Scalar, Span

#: Fields of opentelemetry/proto/trace/v1/trace.proto and common/v1/common.proto.
SCOPE_SPANS, SPANS, SCOPE = 2, 2, 1
TRACE_ID, SPAN_ID, SPAN_NAME, START_TIME, END_TIME, ATTRIBUTES = 1, 2, 5, 7, 8, 9
TEXT_VALUE, BOOL_VALUE, INT_VALUE, DOUBLE_VALUE = 1, 2, 3, 4


def encode_halves(halves: Sequence[RequestHalf], identity: Identity) -> Batch:
    """Return one batch of halves."""
    spans = b"".join(block(SPANS, _span(span_of(half))) for half in halves)
    scope = block(SCOPE, text(1, wire.SCOPE))
    return Batch(key_values(1, identity_attributes(identity)), block(SCOPE_SPANS, scope + spans))


def _span(span: Span) -> bytes:
    return b"".join((
        block(TRACE_ID, bytes.fromhex(span.trace_id)),
        block(SPAN_ID, bytes.fromhex(span.span_id)),
        text(SPAN_NAME, span.name),
        tag(START_TIME, FIXED64) + struct.pack("<Q", span.start_ns),
        tag(END_TIME, FIXED64) + struct.pack("<Q", span.end_ns),
        *(block(ATTRIBUTES, _key(key) + block(2, _value(value))) for key, value in span.attributes.items()),
    ))  # fmt: skip


@lru_cache(maxsize=256)
def _key(name: str) -> bytes:
    return text(1, name)


def _value(value: Scalar) -> bytes:
    if isinstance(value, str):
        return text(TEXT_VALUE, value)
    if isinstance(value, bool):
        return tag(BOOL_VALUE, VARINT) + varint(value)
    if isinstance(value, int):
        return tag(INT_VALUE, VARINT) + varint(value % (1 << 64))
    return tag(DOUBLE_VALUE, FIXED64) + struct.pack("<d", value)

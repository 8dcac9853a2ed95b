"""Spans become halves without anything private; damaged ones are counted and the rest is kept."""

from __future__ import annotations

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.receivers.otlp_json import parse_json
from collector.receivers.traces import decode_spans, decode_traces, parse_spans
from signals.errors import PayloadError

S = 1_000_000_000


def request_with(**attributes: str | float) -> ExportTraceServiceRequest:
    message = ExportTraceServiceRequest()
    span = (
        message.resource_spans.add()
        .scope_spans.add()
        .spans.add(
            name="llm_request",
            trace_id=bytes(range(16)),
            span_id=bytes(range(8)),
            start_time_unix_nano=1_780_000_000 * S,
            end_time_unix_nano=1_780_000_002 * S,
        )
    )
    for key, value in attributes.items():
        kind = {str: "string_value", int: "int_value", float: "double_value"}[type(value)]
        setattr(span.attributes.add(key=key).value, kind, value)
    return message


def test_a_span_becomes_one_half() -> None:
    message = request_with(**{"gen_ai.latency.time_to_first_token": 0.25, "gen_ai.usage.prompt_tokens": 12})
    (batch,) = decode_traces(message, "peer").batches
    (half,) = batch.halves
    assert (half.ttft_seconds, half.input_tokens, half.side) == (0.25, 12, "engine")


def test_a_request_span_without_attributes_is_counted_and_makes_no_request() -> None:
    (batch,) = decode_traces(request_with(), "peer").batches
    assert (batch.halves, batch.empty) == ((), 1)


def test_the_same_bytes_have_the_same_identity_and_others_another() -> None:
    first, again, other = (
        decode_traces(request_with(**{"gen_ai.latency.e2e": seconds}), "peer").batches[0].identity
        for seconds in (1.0, 1.0, 2.0)
    )
    assert first == again
    assert first != other


def test_message_text_is_not_in_any_span_of_a_batch() -> None:
    message = request_with(**{"gen_ai.input.messages": "a secret question", "gen_ai.latency.e2e": 1.0})
    assert "secret" not in repr(decode_spans(message.resource_spans[0], "peer"))


def test_a_span_without_ids_or_with_a_turned_time_is_refused_and_counted() -> None:
    message = request_with(**{"gen_ai.usage.prompt_tokens": 12})
    spans = message.resource_spans[0].scope_spans[0].spans
    spans.add(name="no ids", start_time_unix_nano=1, end_time_unix_nano=2)
    turned = spans.add()
    turned.CopyFrom(spans[0])
    turned.end_time_unix_nano = 5
    decoded = decode_traces(message, "peer")
    assert (decoded.rejected, len(decoded.batches[0].halves)) == (2, 1)
    assert decoded.why is not None


def test_a_body_that_is_no_message_is_named() -> None:
    with pytest.raises(PayloadError, match="no OTLP trace request"):
        parse_spans(b"\xff\xff\xff\xff")


def test_json_ids_are_hex() -> None:
    body = b"""{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "llm_request", "unknownField": 1,
        "traceId": "000102030405060708090a0b0c0d0e0f", "spanId": "0001020304050607",
        "startTimeUnixNano": "1780000000000000000", "endTimeUnixNano": "1780000002000000000",
        "attributes": [{"key": "gen_ai.usage.prompt_tokens", "value": {"intValue": "12"}}]}]}]}]}"""
    message = parse_json(body, ExportTraceServiceRequest)
    (batch,) = decode_traces(message, "peer").batches
    assert batch.halves[0].trace_id == "000102030405060708090a0b0c0d0e0f"


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"resourceSpans": 3}', b'{"resourceSpans": [{"scopeSpans": 1}]}'])
def test_json_that_is_no_request_is_named(body: bytes) -> None:
    with pytest.raises(PayloadError):
        parse_json(body, ExportTraceServiceRequest)

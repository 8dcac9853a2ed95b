"""Turns Dynamo's `http-request` spans and request-trace lines into request halves; worker ids in one spelling.

Dynamo prints a worker id in decimal on the frontend's page, its spans and its trace, in hexadecimal on the worker's
own page. The trace is `dynamo.request.trace.v1` (lib/llm/src/request_trace/types.rs): metadata and block hashes; its
`request_payload` events hold text and are never read. A trace file has each record as `event` of an envelope (seen in
1.6.1); other sinks send it bare.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from signals.dialects import lines
from signals.dialects.genai import text
from signals.numbers import number, whole
from signals.spans import RequestHalf, Span

REQUEST_SPAN = "http-request"
SCHEMA = "dynamo.request.trace.v1"
MODEL_ROUTES = ("/completions", "/chat/completions", "/responses", "/messages", "/embeddings")
#: OTLP status code of a failed span.
ERROR = 2
_MS = 1e-3


def worker_id(printed: str) -> str:
    """Return a worker id printed in decimal as 16 hexadecimal digits, as the worker's own page prints it.

    >>> worker_id("17899160672321931133")
    'f86697cc3364077d'
    """
    return f"{int(printed):016x}" if printed.isdigit() and int(printed) < 1 << 64 else printed


def decimal_worker_id(printed: str) -> str:
    """Return a worker id printed in hexadecimal as the decimal number that the frontend prints.

    >>> decimal_worker_id("f86697cc3364077d")
    '17899160672321931133'
    """
    try:
        return str(int(printed, 16))
    except ValueError:
        return printed


def halves(spans: Iterable[Span]) -> list[RequestHalf]:
    """Return the gateway half of every model request in these spans."""
    return [_half(span) for span in spans if span.name == REQUEST_SPAN and _is_model_route(span)]


def _is_model_route(span: Span) -> bool:
    return str(span.attributes.get("uri", "")).partition("?")[0].endswith(MODEL_ROUTES)


def _half(span: Span) -> RequestHalf:
    have = span.attributes
    decode, prefill = text(have, "decode_worker_id"), text(have, "prefill_worker_id")
    ttft = number(have, "ttft_ms")
    return RequestHalf(
        side="gateway",
        key=span.span_id,
        part=f"{span.trace_id}/{span.span_id}",
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        trace_id=span.trace_id,
        match=text(have, "request_id"),
        request_id=text(have, "request_id"),
        model=text(have, "model"),
        requested_model=text(have, "model"),
        instance=worker_id(decode) if decode else None,
        prefill_instance=worker_id(prefill) if prefill and prefill != decode else None,
        engine="dynamo",
        input_tokens=whole(have, "input_tokens"),
        cached_tokens=whole(have, "cached_tokens"),
        output_tokens=whole(have, "output_tokens"),
        ttft_seconds=None if ttft is None else ttft * _MS,
        e2e_seconds=(span.end_ns - span.start_ns) / 1e9,
        status="error" if span.status_code == ERROR else "ok",
    )


def line(record: Mapping[str, object]) -> RequestHalf | None:
    """Return the half of one `request_end` event, or None for any other line."""
    record = lines.child(record, "event") or record
    if record.get("schema") != SCHEMA or record.get("event_type") != "request_end":
        return None
    request = lines.child(record, "request")
    request_id = lines.word(request, "request_id")
    received = lines.time_ns(request, "request_received_ms")
    total = lines.seconds(request, "total_time_ms", scale=_MS)
    ended = lines.time_ns(record, "event_time_unix_ms")
    if received is None and ended is not None and total is not None:
        received = ended - round(total * 1e9)
    if request_id is None or received is None:
        return None
    worker = lines.child(request, "worker")
    decode, prefill = lines.word(worker, "decode_worker_id"), lines.word(worker, "prefill_worker_id")
    reason = lines.word(lines.child(request, "finish_reason_metadata"), "finish_reason", "backend_finish_reason")
    return RequestHalf(
        side="log",
        key=request_id,
        part=f"dynamo/{request_id}",
        start_ns=received,
        end_ns=ended if total is None else received + round(total * 1e9),
        match=request_id,
        request_id=lines.word(request, "x_request_id") or request_id,
        model=lines.word(request, "model"),
        instance=worker_id(decode) if decode else None,
        prefill_instance=worker_id(prefill) if prefill and prefill != decode else None,
        engine="dynamo",
        input_tokens=whole(request, "input_tokens"),
        cached_tokens=whole(request, "cached_tokens"),
        output_tokens=whole(request, "output_tokens"),
        queue_seconds=lines.seconds(request, "prefill_wait_time_ms", scale=_MS),
        prefill_seconds=lines.seconds(request, "prefill_time_ms", scale=_MS),
        ttft_seconds=lines.seconds(request, "ttft_ms", scale=_MS),
        e2e_seconds=total,
        status="ok" if reason else None,
        finish_reason=reason,
        session=lines.word(lines.child(record, "agent_context"), "session_id"),
        prefix_hashes=_hashes(lines.child(request, "replay").get("input_sequence_hashes")),
    )


def _hashes(found: object) -> tuple[int, ...] | None:
    """Return 64-bit hashes as signed numbers, which is what a BIGINT holds."""
    if not isinstance(found, list) or not all(isinstance(value, int) for value in found):
        return None
    return tuple(value - (1 << 64) if value >= 1 << 63 else value for value in found)

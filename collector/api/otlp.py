"""Receives OTLP/HTTP metrics, traces and logs, protobuf or JSON; acknowledges only what is committed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from fastapi import APIRouter, Request, Response
from google.protobuf import json_format
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from collector.api.bodies import read_content
from collector.api.services import Parts, Services, peer_of
from collector.receivers.logs import decode_logs, parse_logs
from collector.receivers.metrics import DecodedMetrics
from collector.receivers.otlp_json import parse_json
from collector.receivers.traces import decode_traces, parse_spans
from collector.security.tokens import INGEST
from collector.store.batch import Batch, ColumnBatch, HalfBatch
from signals.errors import PayloadError, SloscopeError
from signals.records import Scrape

router = APIRouter(tags=["ingest"])
PROTOBUF, JSON = "application/x-protobuf", "application/json"
M = TypeVar("M", bound=Message)


@router.post("/v1/metrics", summary="OTLP metrics")
async def metrics(request: Request, parts: Parts) -> Response:
    """Take an ExportMetricsServiceRequest; answer after the commit, say what was refused."""
    parts.admit(request, INGEST)
    kind = content_type(request)
    body = await read_content(request, parts.limits)
    parts.counters.add("received_bytes", len(body), signal="metrics")

    peer = peer_of(request)

    def decode() -> DecodedMetrics:
        if kind == PROTOBUF:
            return parts.metrics.decode_body(body, peer)
        return parts.metrics.decode(parse_json(body, ExportMetricsServiceRequest), peer)

    decoded = await asyncio.to_thread(decode)
    if decoded.ignored:
        parts.counters.add("ignored", decoded.ignored, signal="metrics")
    skew = parts.skews.fault(_sender(decoded, peer), decoded.sent_at_ns, parts.clock())
    if skew is not None:
        parts.note_quality("clock_skew", _sender(decoded, peer), skew)
    try:
        await commit(parts, "metrics", decoded.batches, decoded.rejected)
    except SloscopeError:
        parts.metrics.forget({batch.target.instance for batch in decoded.batches if isinstance(batch, Scrape)})
        raise
    if decoded.why is not None and not decoded.batches:
        raise decoded.why
    answer = ExportMetricsServiceResponse()
    if decoded.why is not None:
        answer.partial_success.rejected_data_points = decoded.rejected
        answer.partial_success.error_message = decoded.why.message
    return reply(answer, kind)


@router.post("/v1/traces", summary="OTLP traces")
async def traces(request: Request, parts: Parts) -> Response:
    """Take an ExportTraceServiceRequest: spans that describe requests become request halves, others are let go."""
    parts.admit(request, INGEST)
    kind = content_type(request)
    body = await read_content(request, parts.limits)
    parts.counters.add("received_bytes", len(body), signal="traces")
    peer = peer_of(request)
    decoded = await asyncio.to_thread(
        lambda: decode_traces(parse(body, kind, parse_spans, ExportTraceServiceRequest), peer)
    )
    await commit(parts, "traces", [*_capped(parts, decoded.batches), *decoded.starts], decoded.rejected)
    answer = ExportTraceServiceResponse()
    if decoded.rejected:
        answer.partial_success.rejected_spans = decoded.rejected
        answer.partial_success.error_message = decoded.why or ""
    return reply(answer, kind)


@router.post("/v1/logs", summary="OTLP logs: changes and request logs")
async def logs(request: Request, parts: Parts) -> Response:
    """Take an ExportLogsServiceRequest: records that tell of changes or requests are kept, others let go."""
    parts.admit(request, INGEST)
    kind = content_type(request)
    body = await read_content(request, parts.limits)
    parts.counters.add("received_bytes", len(body), signal="logs")
    peer, now = peer_of(request), parts.clock()
    decoded = await asyncio.to_thread(
        lambda: decode_logs(parse(body, kind, parse_logs, ExportLogsServiceRequest), peer, now)
    )
    if decoded.ignored:
        parts.counters.add("ignored", decoded.ignored, signal="logs")
    await commit(parts, "logs", _capped(parts, decoded.batches))
    return reply(ExportLogsServiceResponse(), kind)


async def commit(parts: Services, signal: str, batches: Sequence[Batch], rejected: int = 0) -> list[bool]:
    """Hand batches to the writer and wait for their commit."""
    if rejected:
        parts.counters.add("rejected", rejected, signal=signal)
    stored = await asyncio.wrap_future(parts.writer.submit(batches))
    parts.counters.add("batches", sum(stored), signal=signal, outcome="stored")
    parts.counters.add("batches", len(stored) - sum(stored), signal=signal, outcome="repeated")
    return stored


def _sender(decoded: DecodedMetrics, peer: str) -> str:
    """Return the agent behind a request, else the address of the other end."""
    for batch in decoded.batches:
        return batch.sources[0].agent if isinstance(batch, ColumnBatch) else batch.identity.agent
    return peer


def _capped(parts: Services, batches: Sequence[Batch]) -> list[Batch]:
    """Return the batches with tenants beyond the limit folded into one, which is counted."""
    found: list[Batch] = []
    for batch in batches:
        if isinstance(batch, HalfBatch):
            batch, folded = parts.tenants.fold(batch)
            if folded:
                example = f"more than {parts.tenants.limit} tenants: further ones are stored as other"
                parts.note_quality("tenant_folded", batch.identity.agent, example, folded)
        found.append(batch)
    return found


def content_type(request: Request) -> str:
    """Return the media type of an OTLP request; PayloadError (415) when it is neither protobuf nor JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in {PROTOBUF, JSON}:
        raise PayloadError(f"Content-Type {kind!r} is not OTLP; expected {PROTOBUF} or {JSON}", status=415)
    return kind


def parse(body: bytes, kind: str, from_protobuf: Callable[[bytes], M], message: type[M]) -> M:
    """Return the message of a body in either encoding."""
    return from_protobuf(body) if kind == PROTOBUF else parse_json(body, message)


def reply(answer: Message, kind: str) -> Response:
    """Return an OTLP answer in the encoding of the request."""
    if kind == JSON:
        return Response(json_format.MessageToJson(answer, indent=None), media_type=JSON)
    return Response(answer.SerializeToString(), media_type=PROTOBUF)

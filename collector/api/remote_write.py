"""Receives Prometheus remote-write 1.0; acknowledges a request when every page it has a piece of is committed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fastapi import APIRouter, Request, Response

from collector.api.bodies import read_body
from collector.api.services import Parts, Services
from collector.receivers.compression import unsnappy
from collector.receivers.remote_write import TargetPage, read_write_request
from collector.security.tokens import INGEST
from signals.errors import InputError, PayloadError, SloscopeError

router = APIRouter(tags=["ingest"])


@router.post("/api/v1/write", summary="Prometheus remote-write 1.0", status_code=204)
async def write(request: Request, parts: Parts) -> Response:
    """Take a snappy-compressed WriteRequest; series of engines and gateways are read, others let go."""
    parts.admit(request, INGEST)
    version = request.headers.get("x-prometheus-remote-write-version", "0.1.0")
    kind = request.headers.get("content-type", "application/x-protobuf")
    if "io.prometheus.write.v2" in kind or not version.startswith(("0.", "1.")):
        raise PayloadError(f"remote-write {version} is not understood; send 1.0 (prometheus.WriteRequest)", status=415)
    body = await read_body(request, parts.limits)
    parts.counters.add("received_bytes", len(body), signal="remote_write")
    pages = await asyncio.to_thread(_pages, body, parts.config.max_decoded_bytes)

    async def commit(page: TargetPage) -> None:
        await _commit(parts, page)

    await _all([parts.assembly.add(page, commit) for page in pages if page.samples or page.up is not None])
    return Response(status_code=204)


async def _commit(parts: Services, page: TargetPage) -> None:
    """Commit one page; what cannot be read is counted and let go, as Prometheus would only send it again."""
    try:
        scrape = parts.metrics.remote_write(page)
    except InputError as error:
        parts.counters.add("rejected", len(page.samples), signal="remote_write")
        parts.note_quality("remote_write_refused", page.target.instance, error.message)
        return
    if scrape is None:
        parts.counters.add("ignored", len(page.samples), signal="remote_write")
        return
    try:
        stored = await asyncio.wrap_future(parts.writer.submit([scrape]))
    except SloscopeError:
        parts.metrics.forget([page.target.instance])
        raise
    parts.counters.add("batches", sum(stored), signal="remote_write", outcome="stored")


def _pages(body: bytes, limit: int) -> list[TargetPage]:
    return read_write_request(unsnappy(body, limit))


async def _all(done: Sequence[asyncio.Future[None]]) -> None:
    """Wait for every page; shared futures must survive a sender that hangs up."""
    outcomes = await asyncio.gather(*(asyncio.shield(item) for item in done), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome

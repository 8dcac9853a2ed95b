"""Hands out what a replay needs of the store, as Arrow; the replay itself runs where it was asked for."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator
from datetime import UTC, datetime

import duckdb
import pyarrow as pa
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from collector.api.questions import moment, now_of
from collector.api.services import Parts, Services
from collector.security.tokens import READ
from collector.sqlguard.formats import ARROW
from collector.store.sqlfiles import sql
from signals.errors import StoreError, UnknownNameError

router = APIRouter(prefix="/api/v1", tags=["answers"])
PACKAGE = "collector.answers"
#: Part → statement under collector.answers.
PARTS = {
    "newest": "newest",
    "models": "replay_models",
    "requests": "replay_requests",
    "arrivals": "replay_arrivals",
    "samples": "replay_samples",
    "limits": "replay_limits",
}
ROWS = 65_536
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@router.get("/replay/{part}", summary="What a replay needs of the store, as Arrow", response_class=StreamingResponse)
async def replay_part(
    request: Request,
    parts: Parts,
    part: str,
    model: str | None = Query(None),
    since: str | None = Query(None),
    now: str | None = Query(None),
) -> StreamingResponse:
    """Return one of newest, models, requests, arrivals, samples and limits as an Arrow stream, in (since, now]."""
    parts.admit(request, READ)
    if part not in PARTS:
        raise UnknownNameError("part of a replay", part, PARTS)
    statement = sql(PACKAGE, PARTS[part])
    values: dict[str, object] = {
        "model": model,
        "since": moment(since, "since") or EPOCH,
        "now": now_of(parts, now) or parts.clock(),
    }
    named = {key: value for key, value in values.items() if f"${key}" in statement}
    cursor, batches = await asyncio.to_thread(_begun, parts, statement, named)
    return StreamingResponse(_stream(cursor, batches), media_type=ARROW)


def _begun(
    parts: Services, statement: str, named: dict[str, object]
) -> tuple[duckdb.DuckDBPyConnection, pa.RecordBatchReader]:
    cursor = parts.store.cursor()
    try:
        return cursor, cursor.sql(statement, params=named).to_arrow_reader(ROWS)
    except duckdb.Error as error:
        cursor.close()
        raise StoreError(f"the store cannot be read: {str(error).splitlines()[0]}") from error


def _stream(cursor: duckdb.DuckDBPyConnection, batches: pa.RecordBatchReader) -> Iterator[bytes]:
    """Yield an Arrow IPC stream, a piece for each batch: what is sent is not held."""
    sink = io.BytesIO()
    try:
        with pa.ipc.new_stream(sink, batches.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
                yield sink.getvalue()
                sink.seek(0)
                sink.truncate()
        yield sink.getvalue()
    finally:
        cursor.close()

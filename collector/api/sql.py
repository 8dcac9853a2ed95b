"""Ad-hoc SQL over HTTP for notebooks, Grafana and curl; every query is guarded, bounded and audited."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from fastapi import APIRouter, Query, Request, Response

from collector.api.bodies import read_content
from collector.api.services import Parts, Services, peer_of
from collector.security.tokens import SQL
from collector.sqlguard.formats import FORMATS, choose
from signals.errors import PayloadError, SloscopeError

router = APIRouter(prefix="/api/v1", tags=["sql"])


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as a client sent it."""

    text: str
    rows: int | None
    format: str | None


@router.get("/sql", summary="Run one SELECT given in the URL")
async def sql_get(
    request: Request,
    parts: Parts,
    q: str = Query(description="one SELECT over the public views"),
    format: str | None = Query(None, description="json, csv or arrow; else by Accept"),  # noqa: A002  # the parameter's public name
    max_rows: int | None = Query(None, ge=1),
) -> Response:
    """Run the query of `q`."""
    return await _answer(request, parts, Asked(q, max_rows, format))


@router.post("/sql", summary="Run one SELECT given in the body")
async def sql_post(
    request: Request,
    parts: Parts,
    format: str | None = Query(None, description="json, csv or arrow; else by Accept"),  # noqa: A002  # the parameter's public name
    max_rows: int | None = Query(None, ge=1),
) -> Response:
    """Run the query of the body: plain text, or JSON `{"query": .., "max_rows"?: .., "format"?: ..}`."""
    body = await read_content(request, parts.limits)
    return await _answer(request, parts, _asked(body, request.headers.get("content-type", ""), format, max_rows))


async def _answer(request: Request, parts: Services, asked: Asked) -> Response:
    who = parts.admit(request, SQL)
    client = f"{who.name}@{peer_of(request)}"
    format_ = choose(asked.format, request.headers.get("accept", ""))
    media_type, write = FORMATS[format_]
    outcome = "ok"
    try:
        result = await asyncio.to_thread(parts.queries.run, asked.text, client, asked.rows)
        content = await asyncio.to_thread(write, result)
    except SloscopeError as error:
        outcome = f"{type(error).__name__}: {error.message}"
        raise
    finally:
        parts.audit.record("sql", who.name, peer_of(request), query=asked.text, outcome=outcome)
        parts.counters.add("sql_queries", outcome="ok" if outcome == "ok" else "refused")
    headers = {"X-Truncated": str(result.truncated).lower(), "X-Query-Seconds": f"{result.seconds:.6f}"}
    return Response(content, media_type=media_type, headers=headers)


def _asked(body: bytes, content_type: str, format_: str | None, max_rows: int | None) -> Asked:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PayloadError(f"the query is no UTF-8: {error.reason} at byte {error.start}") from error
    if "json" not in content_type:
        return Asked(text, max_rows, format_)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PayloadError(f"body is no JSON: {error}") from error
    query = content.get("query", content.get("q")) if isinstance(content, dict) else None
    rows = content.get("max_rows", max_rows) if isinstance(content, dict) else None
    if not isinstance(query, str) or (
        rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or rows < 1)
    ):
        raise PayloadError('expected {"query": "select ...", "max_rows"?: a number of at least 1, "format"?: ..}')
    chosen = content.get("format", format_)
    return Asked(query, rows, chosen if isinstance(chosen, str) else format_)

"""Answers a latency's quantile by step and dimensions, as JSON, CSV or Arrow; from stored bins, within 1 %."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timedelta

import duckdb
import pyarrow as pa
from fastapi import APIRouter, Query, Request, Response

from collector.api.questions import moment, now_of, seconds_of
from collector.api.services import Parts
from collector.security.tokens import READ
from collector.sqlguard.formats import FORMATS, choose
from collector.sqlguard.runner import QueryResult
from collector.store.latency_table import latency_table
from signals.errors import ConfigError, StoreError

router = APIRouter(prefix="/api/v1", tags=["answers"])


@router.get("/latency", summary="A latency's quantile by model, tenant, length and step")
async def latency(
    request: Request,
    parts: Parts,
    metric: str = Query("ttft_seconds"),
    q: float = Query(0.99, description="quantile, from 0 to 1"),
    step: str = Query("5m", description="1m, 5m or 1h"),
    by: str = Query("model,tenant,length_bucket", description="dimensions of latency_bins; empty for all as one"),
    model: str | None = Query(None),
    tenant: str | None = Query(None),
    length_bucket: str | None = Query(None),
    start: str | None = Query(None, alias="from", description="default: a day before `to`"),
    end: str | None = Query(None, alias="to", description="default: now"),
    now: str | None = Query(None),
    format: str | None = Query(None, description="json, csv or arrow; else by Accept"),  # noqa: A002  # the parameter's public name
) -> Response:
    """Return rows (ts, dimensions, requests, value): one for each step in [from, to) that has a request."""
    parts.admit(request, READ)
    until = moment(end, "to") or now_of(parts, now) or parts.clock()
    since = moment(start, "from") or until - timedelta(days=1)
    if since >= until:
        raise ConfigError(f"from must be before to: {since.isoformat()}, {until.isoformat()}")
    dimensions = [name.strip() for name in by.split(",") if name.strip()]
    seconds = seconds_of(step, "step")
    media_type, write = FORMATS[choose(format, request.headers.get("accept", ""))]

    def rows(since: datetime, until: datetime) -> tuple[pa.Table, float]:
        began = time.perf_counter()
        cursor = parts.store.cursor()
        try:
            found = latency_table(
                cursor,
                metric,
                q,
                since,
                until,
                step_seconds=int(seconds) if seconds.is_integer() else 0,
                by=dimensions,
                model=model,
                tenant=tenant,
                length_bucket=length_bucket,
            )
        except duckdb.Error as error:
            raise StoreError(f"the store cannot be read: {str(error).splitlines()[0]}") from error
        finally:
            cursor.close()
        return found, time.perf_counter() - began

    table, took = await asyncio.to_thread(rows, since, until)
    content = await asyncio.to_thread(write, QueryResult(table, truncated=False, seconds=took))
    return Response(content, media_type=media_type, headers={"X-Query-Seconds": f"{took:.6f}"})

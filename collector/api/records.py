"""Serves stored records as lists: instances, incidents; and takes people's verdicts on incidents."""

from __future__ import annotations

import asyncio
import json

import duckdb
import pyarrow as pa
from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from collector.api.bodies import read_content
from collector.api.services import Parts, Services, peer_of
from collector.security.tokens import OPERATE, READ
from collector.sqlguard.formats import plain
from collector.store.sqlfiles import sql
from signals.errors import PayloadError, StoreError, UnknownNameError

router = APIRouter(prefix="/api/v1", tags=["answers"])
PACKAGE = "collector.api"
MAX_NOTE = 2_000
VERDICTS = ("right", "wrong", "partly", "noise")


@router.get("/instances", summary="Instances and their lives")
async def instances(
    request: Request, parts: Parts, model: str | None = Query(None), running: bool = Query(False)
) -> JSONResponse:
    """Return every known life, newest first; `running` leaves out those that stopped."""
    parts.admit(request, READ)
    items = await asyncio.to_thread(_rows, parts, "instances", {"model": model, "running": running})
    return JSONResponse({"items": items})


@router.get("/incidents", summary="Spikes that were found")
async def incidents(
    request: Request, parts: Parts, model: str | None = Query(None), limit: int = Query(100, ge=1, le=1_000)
) -> JSONResponse:
    """Return incidents with their explanations, newest first."""
    parts.admit(request, READ)
    items = await asyncio.to_thread(_rows, parts, "incidents", {"model": model, "limit": limit})
    for item in items:
        document = item.get("document")
        if isinstance(document, str):
            item["document"] = json.loads(document)
    return JSONResponse({"items": items})


@router.post("/incidents/{incident}/verdict", summary="Say whether an explanation was right")
async def verdict(request: Request, parts: Parts, incident: str) -> JSONResponse:
    """Store `{"verdict": "right|wrong|partly|noise", "note"?: ".."}`; audited."""
    who = parts.admit(request, OPERATE)
    body = await read_content(request, parts.limits)
    try:
        content = json.loads(body)
        word, note = str(content["verdict"]), content.get("note")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PayloadError('expected {"verdict": "..", "note"?: ".."}') from None
    if word not in VERDICTS:
        raise UnknownNameError("verdict", word, VERDICTS)
    text = None if note is None else str(note)[:MAX_NOTE]
    await asyncio.to_thread(_set_verdict, parts, incident, word, text)
    parts.audit.record("verdict", who.name, peer_of(request), incident=incident, verdict=word)
    return JSONResponse({"incident": incident, "human_verdict": word, "human_note": text})


def _set_verdict(parts: Services, incident: str, word: str, note: str | None) -> None:
    with parts.store.write_lock():
        cursor = parts.store.cursor()
        try:
            values = {"incident": incident, "verdict": word, "note": note}
            changed = cursor.execute(sql(PACKAGE, "incident_verdict"), values).fetchall()
        except duckdb.Error as error:
            raise StoreError(f"the verdict could not be stored: {str(error).splitlines()[0]}") from error
        finally:
            cursor.close()
    if not changed or not changed[0][0]:
        raise UnknownNameError("incident", incident, [])


def _rows(parts: Services, name: str, values: dict[str, object]) -> list[dict[str, object]]:
    cursor = parts.store.cursor()
    try:
        table: pa.Table = cursor.sql(sql(PACKAGE, name), params=values).to_arrow_table()
    finally:
        cursor.close()
    return [{key: plain(value) for key, value in row.items()} for row in table.to_pylist()]

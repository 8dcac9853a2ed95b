"""Receives what people and controllers did: plain changes and webhooks, told apart by their shape."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from collector.api.bodies import read_content
from collector.api.otlp import commit
from collector.api.services import Parts
from collector.receivers.changes.registry import change_batch, read_changes
from collector.security.tokens import INGEST

router = APIRouter(prefix="/api/v1", tags=["ingest"])


@router.post("/changes", summary="Changes: plain, Argo CD, GitHub, Kubernetes, Alertmanager")
async def changes(request: Request, parts: Parts) -> JSONResponse:
    """Store the changes of a JSON body. A body that is delivered again stores nothing."""
    who = parts.admit(request, INGEST)
    body = await read_content(request, parts.limits)
    headers = {name.lower(): value for name, value in request.headers.items()}
    found = await asyncio.to_thread(read_changes, body, headers, parts.clock())
    stored = [False]
    if found:
        stored = await commit(parts, "changes", [change_batch(found, body, found[0].source or who.name)])
    return JSONResponse(
        {"changes": len(found), "stored": len(found) if any(stored) else 0}, 201 if any(stored) else 200
    )

"""Copies the open database into a file on the server, on request of an administrator; restores nothing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from collector.api.bodies import read_content
from collector.api.services import Parts, peer_of
from collector.security.tokens import ADMIN
from signals.errors import InputError, PayloadError, StoreError

router = APIRouter(prefix="/api/v1", tags=["operation"])


@router.post("/backup", summary="Copy the database while it runs")
async def backup(request: Request, parts: Parts) -> JSONResponse:
    """Take `{"target": "/absolute/new/file"}`; audited."""
    who = parts.admit(request, ADMIN)
    body = await read_content(request, parts.limits)
    try:
        target = Path(str(json.loads(body)["target"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise PayloadError('expected {"target": "/absolute/new/file"}') from None
    if not target.is_absolute():
        raise InputError(f"target must be an absolute path, got {str(target)!r}")
    if target.exists() or not target.parent.is_dir():
        raise InputError(f"{target} exists already, or its folder does not")
    try:
        await asyncio.to_thread(parts.store.backup, target)
    except StoreError as error:
        if "Permission" not in error.message:
            raise
        raise InputError(
            f"the database may not write to {target.parent}: back up into its own folder, or name it in allowed_dirs"
        ) from error
    parts.audit.record("backup", who.name, peer_of(request), target=str(target))
    return JSONResponse({"target": str(target), "bytes": target.stat().st_size})

"""Serves what a dashboard draws: the course of a model over time, and what there is to choose from."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse

from collector.api.answers import answered
from collector.api.questions import ask, moment, now_of, seconds_of
from collector.api.services import Services, services
from collector.security.tokens import READ

router = APIRouter(prefix="/api/v1", tags=["observe"])
NOW = Query(None, description="RFC 3339 time, `newest` for the newest stored one; default: the clock")


@router.get("/timeline", summary="How did it go over time?")
async def timeline(
    request: Request,
    model: str | None = Query(None),
    tenant: str | None = Query(None),
    length_bucket: str | None = Query(None),
    instance: str | None = Query(None),
    from_: str | None = Query(None, alias="from"),
    to: str | None = Query(None),
    window: str | None = Query(None, description="duration before now, e.g. 1h"),
    now: str | None = NOW,
    parts: Services = Depends(services),
) -> JSONResponse:
    """Return latency, traffic, engine state and changes by step."""
    parts.admit(request, READ)
    found = await ask(
        parts,
        "timeline",
        now_of(parts, now),
        model=model,
        tenant=tenant,
        length_bucket=length_bucket,
        instance=instance,
        start=moment(from_, "from"),
        end=moment(to, "to"),
        window_seconds=seconds_of(window, "window") if window else None,
    )
    return answered(found)


@router.get("/inventory", summary="What is there?")
async def inventory(request: Request, now: str | None = NOW, parts: Services = Depends(services)) -> JSONResponse:
    """Return models, tenants, length buckets, instances and data quality."""
    parts.admit(request, READ)
    return answered(await ask(parts, "inventory", now_of(parts, now)))

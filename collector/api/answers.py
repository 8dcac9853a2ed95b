"""Serves the answers: status, explain, forecast, recommendations, requests; the questions are computed elsewhere."""

from __future__ import annotations

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from collector.api.inputs import RAW_WINDOW, configured_calendar, configured_objectives
from collector.api.questions import ask, moment, now_of, seconds_of
from collector.api.scaling import recommendations as newest_recommendations
from collector.api.services import Parts
from collector.security.tokens import READ
from collector.sqlguard.formats import plain

router = APIRouter(prefix="/api/v1", tags=["answers"])
NOW = Query(None, description="RFC 3339 time, `newest` for the newest stored one; default: the clock")


@router.get("/status", summary="Are the objectives met?")
async def status(request: Request, parts: Parts, now: str | None = NOW) -> JSONResponse:
    """Return every objective with counts, budget, burn rates, state and quantiles.

    Minutes that the server has stored are not counted again from requests: quantiles are within 1 %, coverage is of the
    last day.
    """
    parts.admit(request, READ)
    window = RAW_WINDOW if parts.config.jobs else None
    objectives = configured_objectives(parts)
    return answered(await ask(parts, "status", now_of(parts, now), objectives=objectives, raw_window=window))


@router.get("/explain", summary="Why are they not?")
async def explain(
    request: Request,
    parts: Parts,
    model: str = Query(),
    metric: str | None = Query(None, description="ttft, tpot, e2e, queue, ..."),
    start: str | None = Query(None, description="begin of the window that went wrong; also `from`"),
    end: str | None = Query(None, description="its end; also `to`"),
    from_: str | None = Query(None, alias="from"),
    to: str | None = Query(None),
    at: str | None = Query(None),
    now: str | None = NOW,
) -> JSONResponse:
    """Return verdict, stage, causes with evidence, and what is missing."""
    parts.admit(request, READ)
    span = {
        "start": moment(start or from_, "start"),
        "end": moment(end or to, "end"),
        "at": moment(at, "at"),
    }
    return answered(await ask(parts, "explain", now_of(parts, now), model=model, metric=metric, **span))


@router.get("/forecast", summary="How much demand comes next?")
async def forecast(
    request: Request,
    parts: Parts,
    model: str = Query(),
    tenant: str | None = Query(None),
    signal: str = Query("requests"),
    horizon: str = Query("24h", description="a duration; `horizon_seconds` says it in seconds"),
    step: str = Query("10m"),
    horizon_seconds: float | None = Query(None, gt=0),
    step_seconds: int | None = Query(None, gt=0),
    timezone: str = Query("UTC"),
    cold_start: str = Query("10m", description="how long an instance takes to start, for the reserve"),
    parts_shown: int = Query(0, alias="parts", ge=0, le=200, description="also the N busiest tenant and length parts"),
    now: str | None = NOW,
) -> JSONResponse:
    """Return the forecast of one signal with its band."""
    parts.admit(request, READ)
    return answered(
        await ask(
            parts,
            "forecast",
            now_of(parts, now),
            model=model,
            tenant=tenant,
            signal=signal,
            horizon_seconds=horizon_seconds or seconds_of(horizon, "horizon"),
            step_seconds=step_seconds or int(seconds_of(step, "step")),
            timezone=timezone,
            cold_start_seconds=seconds_of(cold_start, "cold_start"),
            parts=parts_shown,
            events=configured_calendar(parts),
        )
    )


@router.get("/recommendations", summary="How many instances next?")
async def recommendations(
    request: Request, parts: Parts, pool: str | None = Query(None), now: str | None = NOW
) -> JSONResponse:
    """Return one scaling decision per pool with its reasons: the newest that is stored, or one for the time asked."""
    parts.admit(request, READ)
    return answered(await newest_recommendations(parts, now_of(parts, now), pool))


@router.get("/requests/{request_id:path}", summary="One request's timeline")
async def one_request(request: Request, parts: Parts, request_id: str, now: str | None = NOW) -> JSONResponse:
    """Return the timeline of one request, its instance then, and its peers."""
    parts.admit(request, READ)
    return answered(await ask(parts, "request", now_of(parts, now), request_id=request_id))


def answered(content: dict[str, object]) -> JSONResponse:
    """Return an answer as JSON: NaN and infinities are null, times RFC 3339."""
    return JSONResponse({key: plain(value) for key, value in content.items()})

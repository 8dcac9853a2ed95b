"""Serves the planners, comparisons and costs; the figures are computed by the answers."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from collector.api.answers import NOW, answered
from collector.api.inputs import configured_pools
from collector.api.questions import ask, moment, now_of
from collector.api.services import Parts
from collector.security.tokens import READ
from signals.errors import InputError

router = APIRouter(prefix="/api/v1", tags=["answers"])
SET = Query([], alias="set", description="input=value, repeated")


@router.get("/plans", summary="Which planners there are")
async def plans(request: Request, parts: Parts) -> JSONResponse:
    """Return every planner with its question and inputs."""
    parts.admit(request, READ)
    from collector.answers.plan import catalogue

    return JSONResponse({"items": await asyncio.to_thread(catalogue)})


@router.get("/plans/{name}", summary="One plan")
async def plan(
    request: Request,
    parts: Parts,
    name: str,
    model: str | None = Query(None),
    now: str | None = NOW,
    set_: list[str] = SET,
    measured: bool = Query(True, description="take what the store has measured"),
) -> JSONResponse:
    """Return inputs, steps, verdicts and the headline of a planner."""
    parts.admit(request, READ)
    given = {}
    for item in set_:
        key, sign, value = item.partition("=")
        if not sign:
            raise InputError(f"set: expected input=value, got {item!r}", parameter="set")
        given[key] = value
    at = now_of(parts, now)

    def compute() -> dict[str, object]:
        from collector.answers.plan import plan as answer

        reader = parts.store.reader() if measured else None
        return answer(reader, at or parts.clock(), name, given, model)

    return answered(await asyncio.to_thread(compute))


@router.get("/compare", summary="Compare two versions")
async def compare(
    request: Request,
    parts: Parts,
    by: str = Query("model_version"),
    a: str = Query(),
    b: str = Query(),
    metric: str | None = Query(None),
    model: str | None = Query(None),
    now: str | None = NOW,
) -> JSONResponse:
    """Return verdict, effect and interval."""
    parts.admit(request, READ)
    return answered(await ask(parts, "compare", now_of(parts, now), by=by, a=a, b=b, metric=metric, model=model))


@router.get("/cost", summary="What was spent, on whom, at which objective")
async def cost(
    request: Request,
    parts: Parts,
    start: str | None = Query(None),
    end: str | None = Query(None),
    now: str | None = NOW,
) -> JSONResponse:
    """Return dollars by model and tenant, per million tokens and per million within the objective."""
    parts.admit(request, READ)
    pools = configured_pools(parts)
    at, since, until = now_of(parts, now), moment(start, "start"), moment(end, "end")

    def compute() -> dict[str, object]:
        from collector.answers.cost import cost as answer
        from collector.answers.cost import prices_of

        reader, prices = parts.store.reader(), prices_of(pools)
        return answer(reader, at or parts.clock(), prices=prices, pools=pools, start=since, end=until)

    return answered(await asyncio.to_thread(compute))

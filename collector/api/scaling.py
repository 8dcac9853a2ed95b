"""Hands scaling decisions to KEDA, the HPA and people; answers 503 when blind and never 0 for missing data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from analytics.scaling.tolerance import quantised
from collector.api.bodies import read_content
from collector.api.inputs import orders_of, scaling_inputs
from collector.api.questions import ask, now_of, seconds_of
from collector.api.services import Parts, Services, peer_of
from collector.receivers.changes.form import Change
from collector.receivers.changes.registry import change_batch
from collector.security.tokens import OPERATE, READ
from signals.errors import BlindError, InputError, PayloadError, UnknownNameError

router = APIRouter(tags=["scaling"])
GROUP = "external.metrics.k8s.io/v1beta1"
METRIC = "sloscope_desired_replicas"
BLIND = "hold_blind"
MAX_PINNED = 100_000
MAX_PIN_SECONDS = 30 * 86_400


@router.get("/api/v1/scaling/keda", summary="Replicas for KEDA's metrics-api trigger")
async def keda(
    request: Request,
    parts: Parts,
    pool: str = Query(),
    now: str | None = Query(None),
    beyond_tolerance: bool = Query(False, description="move the number out of the 10 % that an HPA ignores"),
) -> JSONResponse:
    """Return `{"replicas": N}`; 503 when the pool cannot be seen, so that KEDA keeps what runs."""
    parts.admit(request, READ)
    replicas, decision = await desired(parts, pool, now_of(parts, now))
    if beyond_tolerance:
        replicas = quantised(int(str(decision["current"])), replicas)
    return JSONResponse(
        {"replicas": replicas, "action": decision["action"], "valid_until": decision.get("valid_until")}
    )


@router.get(f"/apis/{GROUP}", summary="Kubernetes external metrics: discovery")
async def discovery() -> dict[str, object]:
    """Return the metrics of this group."""
    resource = {
        "name": METRIC,
        "singularName": "",
        "namespaced": True,
        "kind": "ExternalMetricValueList",
        "verbs": ["get"],
    }
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": GROUP, "resources": [resource]}


@router.get(f"/apis/{GROUP}/namespaces/{{namespace}}/{{metric}}", summary="Kubernetes external metrics: values")
async def external_metric(
    request: Request,
    parts: Parts,
    namespace: str,
    metric: str,
    selector: str = Query("", alias="labelSelector", description="pool=NAME"),
) -> JSONResponse:
    """Return the desired replicas of the pool that the selector names; 503 when it cannot be seen."""
    del namespace  # pools are not bound to namespaces
    parts.admit(request, READ)
    if metric != METRIC:
        raise UnknownNameError("external metric", metric, [METRIC])
    words = dict(part.split("=", 1) for part in selector.replace("==", "=").split(",") if "=" in part)
    if "pool" not in words:
        raise InputError("labelSelector must name a pool: pool=NAME", parameter="labelSelector")
    replicas, _ = await desired(parts, words["pool"], None)
    item = {
        "metricName": METRIC,
        "metricLabels": {"pool": words["pool"]},
        "timestamp": parts.clock().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "value": str(replicas),
    }
    return JSONResponse({"kind": "ExternalMetricValueList", "apiVersion": GROUP, "metadata": {}, "items": [item]})


@router.get("/api/v1/scaling", summary="Pins and the freeze")
async def board(request: Request, parts: Parts) -> JSONResponse:
    """Return what operators decided."""
    parts.admit(request, READ)
    return JSONResponse(parts.pins.document())


@router.post("/api/v1/scaling/pin", summary="Keep a pool at a size")
async def pin(request: Request, parts: Parts) -> JSONResponse:
    """Take `{"pool": .., "instances": N, "for": "2h"}`; audited, and told as a change."""
    who = parts.admit(request, OPERATE)
    content = await _json(request, parts)
    pool, instances = content.get("pool"), content.get("instances", content.get("replicas"))
    if not isinstance(pool, str) or not pool:
        raise PayloadError('expected {"pool": "NAME", "instances": N, "for": "2h"}')
    if not isinstance(instances, int) or isinstance(instances, bool) or not 0 <= instances <= MAX_PINNED:
        raise PayloadError(f"instances must be a whole number from 0 to {MAX_PINNED}")
    seconds = seconds_of(str(content.get("for", "1h")), "for")
    if seconds > MAX_PIN_SECONDS:
        raise PayloadError(f"a pin lasts at most {MAX_PIN_SECONDS // 86_400} days")
    until = parts.clock() + timedelta(seconds=seconds)
    parts.pins.pin(pool, instances, until, who.name)
    await _tell(request, parts, who.name, "pin", f"pinned {pool} at {instances} until {until:%Y-%m-%d %H:%M} UTC", pool)
    return JSONResponse(parts.pins.document())


@router.delete("/api/v1/scaling/pin", summary="Lift a pin")
async def unpin(request: Request, parts: Parts, pool: str = Query()) -> JSONResponse:
    """Lift the pin of a pool; audited."""
    who = parts.admit(request, OPERATE)
    if not parts.pins.unpin(pool):
        raise UnknownNameError("pin", pool, parts.pins.pins())
    await _tell(request, parts, who.name, "unpin", f"lifted the pin of {pool}", pool)
    return JSONResponse(parts.pins.document())


@router.post("/api/v1/scaling/freeze", summary="Hold every pool, or let go")
async def freeze(request: Request, parts: Parts) -> JSONResponse:
    """Take `{"frozen": true|false}`; audited."""
    who = parts.admit(request, OPERATE)
    content = await _json(request, parts)
    frozen = content.get("frozen", True)
    if not isinstance(frozen, bool):
        raise PayloadError('expected {"frozen": true} or {"frozen": false}')
    parts.pins.freeze(frozen, who.name)
    await _tell(request, parts, who.name, "freeze", "froze scaling" if frozen else "unfroze scaling", None)
    return JSONResponse(parts.pins.document())


async def desired(parts: Services, pool: str, now: datetime | None) -> tuple[int, dict[str, object]]:
    """Return (replicas, decision) of a pool; BlindError (503) when nothing can be seen of it."""
    try:
        answer = await recommendations(parts, now, pool)
    except UnknownNameError as error:
        if error.data.get("known"):
            raise
        raise BlindError("no pool has been seen yet: keep what runs", retry_after=15) from error
    decisions = answer["recommendations"]
    assert isinstance(decisions, list)
    decision: dict[str, object] = decisions[0] if decisions else {"action": BLIND}
    proposed = decision.get("proposed")
    if decision.get("action") == BLIND or not isinstance(proposed, int):
        raise BlindError(
            f"pool {pool!r} cannot be seen: keep what runs", retry_after=15, because=decision.get("because")
        )
    return proposed, decision


async def recommendations(parts: Services, now: datetime | None, pool: str | None) -> dict[str, object]:
    """Return `scale`'s answer, of one pool where named: the job's where `now` is None and it is fresh, else computed.

    Raises UnknownNameError for a pool that is neither configured nor seen.
    """
    clock = parts.clock()
    kept = parts.decided.newest(clock, orders_of(parts, clock)) if now is None else None
    if kept is None:
        return await ask(parts, "scale", now, pool=pool, **scaling_inputs(parts, now or clock))
    if pool is None:
        return dict(kept)
    rows = kept.get("recommendations")
    found = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    chosen = [row for row in found if row.get("pool") == pool]
    if not chosen:
        raise UnknownNameError("pool", pool, [str(row.get("pool")) for row in found])
    return {**kept, "recommendations": chosen}


async def _json(request: Request, parts: Services) -> dict[str, object]:
    body = await read_content(request, parts.limits)
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise PayloadError(f"body is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise PayloadError("expected a JSON object")
    return content


async def _tell(request: Request, parts: Services, who: str, action: str, summary: str, pool: str | None) -> None:
    """Audit an operator's action and store it as a change."""
    parts.audit.record(action, who, peer_of(request), summary=summary)
    now = parts.clock()
    change = Change(now, "scale", summary, f"operator {who}", pool=pool)
    parts.writer.submit([change_batch([change], f"{now.isoformat()} {summary}".encode(), "operator")])

"""Answers what people and orchestrators ask the agent: alive, ready, its own metrics, the canonical signals."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agent.httpserver import Request, Response
from agent.outputs import prometheus
from agent.outputs.totals import Totals
from agent.selfmetrics import SelfMetrics

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Check:
    """One named check; `required` ones decide about readiness."""

    name: str
    good: bool
    note: str
    required: bool = True


@dataclass(slots=True)
class Health:
    """The routes of the agent's own server."""

    metrics: SelfMetrics
    totals: Callable[[], Totals | None]
    alive: Callable[[], bool]
    checks: Callable[[], list[Check]]
    refresh: Callable[[], None]
    config: Callable[[], Mapping[str, object]]

    def answer(self, request: Request) -> Response:
        """Answer one GET."""
        if request.method not in {"GET", "HEAD"}:
            return Response(405, b"only GET")
        if request.path == "/healthz":
            good = self.alive()
            return Response(200 if good else 503, b"ok\n" if good else b"the scheduler stands still\n")
        if request.path == "/readyz":
            return self._ready()
        if request.path == "/metrics":
            self.refresh()
            return Response(200, self.metrics.page(), prometheus.CONTENT_TYPE)
        totals = self.totals()
        if request.path == "/signals" and totals is not None:
            return Response(200, prometheus.page(totals.accounts()), prometheus.CONTENT_TYPE)
        if request.path == "/config":
            return Response(200, json.dumps(self.config(), indent=1).encode(), JSON)
        return Response(404, b"here are /metrics /signals /healthz /readyz /config\n")

    def _ready(self) -> Response:
        checks = self.checks()
        ready = all(check.good for check in checks if check.required)
        named = [{"check": c.name, "ok": c.good, "required": c.required, "note": c.note} for c in checks]
        return Response(200 if ready else 503, json.dumps({"ready": ready, "checks": named}).encode(), JSON)

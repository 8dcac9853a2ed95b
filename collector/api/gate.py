"""Stands before every route: bounds how many requests run at once and counts how they ended; decides nothing else."""

from __future__ import annotations

import time
from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from collector.api.problems import of_error
from collector.api.services import Services
from signals.errors import StoreError


@dataclass(slots=True)
class Gate:
    """ASGI application around the application."""

    app: ASGIApp
    services: Services
    running: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self.running >= self.services.config.max_connections:
            error = StoreError(f"{self.running} requests are running; come back later", retry_after=1)
            await of_error(error, Request(scope).url.path)(scope, receive, send)
            self.services.counters.add("http_requests", status="503", route="over the limit")
            return
        status = "499"

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        started = time.perf_counter()
        self.running += 1
        try:
            await self.app(scope, receive, watched)
        except Exception:  # noqa: BLE001  # answered and logged as a problem by then; the connection may live on
            self.services.counters.add("defects")
        finally:
            self.running -= 1
            route = getattr(scope.get("route"), "path", "unknown")
            self.services.counters.add("http_requests", status=status, route=route)
            self.services.counters.add("http_seconds", time.perf_counter() - started, route=route)

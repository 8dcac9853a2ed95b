"""Everything that the routes need, in one frozen record; built once by `serve` and by tests."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request

from collector.api.bodies import BodyLimits
from collector.api.counters import Counters
from collector.api.decided import Decided
from collector.api.pins import PinBoard
from collector.config import CollectorConfig
from collector.receivers.assembly import Assembly
from collector.receivers.metrics import MetricsReceiver
from collector.receivers.skew import SkewWatch
from collector.receivers.tenants import TenantCap
from collector.security.audit import AuditLog
from collector.security.rates import RateLimit
from collector.security.tokens import Principal, TokenFile
from collector.sqlguard.runner import QueryRunner
from collector.store.group_commit import GroupCommit
from collector.store.store import Store
from signals.errors import StoreError


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of a running collector. `clock` is wall time in UTC, `monotonic` seconds for limits."""

    config: CollectorConfig
    store: Store
    writer: GroupCommit
    queries: QueryRunner
    tokens: TokenFile
    rates: RateLimit
    audit: AuditLog
    pins: PinBoard
    clock: Callable[[], datetime]
    monotonic: Callable[[], float]
    counters: Counters = field(default_factory=Counters)
    metrics: MetricsReceiver = field(default_factory=MetricsReceiver)
    assembly: Assembly = field(default_factory=Assembly)
    skews: SkewWatch = field(default_factory=SkewWatch)
    tenants: TenantCap = field(default_factory=lambda: TenantCap(1_000))
    decided: Decided = field(default_factory=Decided)
    #: Text that jobs add to /metrics, by job.
    published: dict[str, str] = field(default_factory=dict)

    @property
    def limits(self) -> BodyLimits:
        return BodyLimits(self.config.max_body_bytes, self.config.max_decoded_bytes, self.config.body_seconds)

    def note_quality(self, kind: str, source: str, example: str, count: int = 1) -> None:
        """Count something wrong with what came in, on the writer's thread; visible in the view `data_quality`."""

        def record() -> None:
            self.store.record_quality(kind, count, source=source, example=example)

        with suppress(StoreError):  # a full queue must not turn a note into a failure
            self.writer.work(record)

    def admit(self, request: Request, scope: str) -> Principal:
        """Return who asks, if they may and not too often; raises PermissionDeniedError or RateLimitedError."""
        peer = peer_of(request)
        self.rates.take(peer, self.monotonic())
        return self.tokens.allow(request.headers.get("authorization"), scope)


def peer_of(request: Request) -> str:
    """Return the address of the other end."""
    return request.client.host if request.client else "unknown"


def services(request: Request) -> Services:
    """Return the running collector's parts, for routes (`Parts`)."""
    found: Services = request.app.state.services
    return found


#: What a route declares to get the running collector's parts.
Parts = Annotated[Services, Depends(services)]

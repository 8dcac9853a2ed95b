"""A collector in memory for tests of its HTTP side: the real application, store and writer, a clock that stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from fastapi.testclient import TestClient

from collector.api.app import build_app
from collector.api.gate import Gate
from collector.api.pins import PinBoard
from collector.api.services import Services
from collector.config import CollectorConfig
from collector.security.audit import AuditLog
from collector.security.rates import RateLimit
from collector.security.tokens import TokenFile
from collector.sqlguard.runner import QueryLimits, QueryRunner
from collector.store.group_commit import GroupCommit
from collector.store.store import Store

#: Where the clock of the tests stands: 100 s after tests.support.scrapes.T0.
NOW = datetime.fromtimestamp(1_780_000_100, UTC)
PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}


@contextmanager
def running(
    *, tokens: Path | None = None, audit: Path | None = None, config: CollectorConfig | None = None
) -> Iterator[tuple[TestClient, Services]]:
    """Yield a client and the parts behind it."""
    settings = config or CollectorConfig(db=":memory:", linger_seconds=0.0, jobs=False)
    with Store.open(None) as store:
        writer = GroupCommit(store, settings.linger_seconds)
        parts = Services(
            config=settings,
            store=store,
            writer=writer,
            queries=QueryRunner(
                store.cursor, QueryLimits(settings.sql_rows, settings.sql_seconds, settings.sql_at_once)
            ),
            tokens=TokenFile(tokens, lambda: NOW),
            rates=RateLimit(settings.requests_per_second, settings.request_burst),
            audit=AuditLog(audit, lambda: NOW),
            pins=PinBoard(None, lambda: NOW),
            clock=lambda: NOW,
            monotonic=lambda: 0.0,
        )
        try:
            with TestClient(Gate(build_app(parts), parts), raise_server_exceptions=False) as client:
                yield client, parts
        finally:
            writer.close()

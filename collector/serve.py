"""Runs the collector: opens the store, serves HTTP(S), stops gracefully; every decision is made elsewhere.

While it serves, `FILE.serving` holds its URL, so that commands given the file go through the server.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TextIO

import pyarrow as pa
import uvicorn

from collector.api.app import build_app
from collector.api.gate import Gate
from collector.api.pins import PinBoard
from collector.api.services import Services
from collector.config import CollectorConfig
from collector.receivers.metrics import MetricsReceiver
from collector.receivers.tenants import TenantCap
from collector.security.audit import AuditLog
from collector.security.rates import RateLimit
from collector.security.tokens import TokenFile
from collector.sqlguard.runner import QueryLimits, QueryRunner
from collector.store.group_commit import GroupCommit
from collector.store.sqlfiles import sql
from collector.store.store import Store
from signals.errors import ConfigError

__all__ = ["build_services", "serve", "serving_url"]

log = logging.getLogger(__name__)
#: How long open requests may take to end after a stop signal.
GRACE_SECONDS = 20


def serve(config: CollectorConfig, stderr: TextIO = sys.stderr, ready: Callable[[str], None] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; return 0. `ready` is told the URL once requests are answered.

    Raise StoreError when the file is not to be had, ConfigError when the port or a certificate is not.
    """
    with ExitStack() as closing:
        services = build_services(config)
        closing.callback(services.store.close)
        closing.callback(services.writer.close)
        if config.jobs:
            from collector.jobs.build import build_scheduler, warm_up_jobs

            warm_up_jobs()
            scheduler = build_scheduler(services)
            scheduler.start()
            closing.callback(scheduler.stop)
        listener = _bind(config)
        closing.callback(listener.close)
        url = _url(config, listener)
        marker = _marker(config.db)
        server = uvicorn.Server(_uvicorn(config, services))
        _stop_on_signals(server)

        def started() -> None:
            if marker is not None:
                marker.write_text(url + "\n", encoding="utf-8")
            print(f"sloscope collector: {url}, database {config.db}", file=stderr, flush=True)
            if ready is not None:
                ready(url)

        closing.callback(_remove, marker)
        _run(server, listener, started)
    return 0


def build_services(config: CollectorConfig) -> Services:
    """Open the store and build the parts around it."""

    def clock() -> datetime:
        return datetime.now(UTC)

    tokens = TokenFile(Path(config.tokens) if config.tokens else None, clock)
    warm_up()
    in_memory = config.db == ":memory:"
    store = Store.open(
        None if in_memory else config.db, memory_limit=config.memory_limit or None, threads=config.threads or None
    )
    store.confine([Path(folder) for folder in (config.archive, *config.allowed_dirs.split(os.pathsep)) if folder])
    return Services(
        config=config,
        store=store,
        writer=GroupCommit(store, config.linger_seconds),
        queries=QueryRunner(store.cursor, QueryLimits(config.sql_rows, config.sql_seconds, config.sql_at_once)),
        tokens=tokens,
        rates=RateLimit(config.requests_per_second, config.request_burst),
        audit=AuditLog(None if in_memory else config.audit_path, clock),
        pins=PinBoard(None if in_memory else Path(f"{config.db}.pins.json"), clock),
        clock=clock,
        monotonic=time.monotonic,
        metrics=MetricsReceiver(lambda: int((time.time() - 86_400 * config.keep_ledger_days) * 1e9)),
        tenants=_tenants(store, config.max_tenants),
    )


def _tenants(store: Store, limit: int) -> TenantCap:
    """Return the cap, with the tenants that are stored already."""
    cap = TenantCap(limit)
    with store.cursor() as cursor:
        found = cursor.execute(sql("collector.api", "tenants"), {"limit": limit}).fetchall()
    cap.remember(str(name) for (name,) in found)
    return cap


def warm_up() -> None:
    """Convert one list to Arrow: the first imports pandas where it is installed, and no sender should wait for that."""
    pa.array([None], type=pa.string())


def serving_url(db: str | Path) -> str | None:
    """Return the URL of the server that owns a database file, None when none says so."""
    marker = _marker(str(db))
    if marker is None or not marker.exists():
        return None
    with suppress(OSError):
        return marker.read_text(encoding="utf-8").strip() or None
    return None


def _run(server: uvicorn.Server, listener: socket.socket, started: Callable[[], None]) -> None:
    import asyncio

    async def main() -> None:
        serving = asyncio.create_task(server.serve([listener]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            started()
        await serving

    asyncio.run(main())


def _uvicorn(config: CollectorConfig, services: Services) -> uvicorn.Config:
    app = Gate(build_app(services), services)
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE_SECONDS,
        h11_max_incomplete_event_size=64 * 1024,
        ssl_certfile=config.tls_cert or None,
        ssl_keyfile=config.tls_key or None,
    )


def _bind(config: CollectorConfig) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((config.host, config.port))
    except OSError as error:
        listener.close()
        raise ConfigError(f"cannot bind {config.host}:{config.port}: {error.strerror}") from error
    return listener


def _url(config: CollectorConfig, listener: socket.socket) -> str:
    scheme = "https" if config.tls_cert else "http"
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(config.host, config.host)  # noqa: S104  # compared, not bound
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{scheme}://{shown}:{listener.getsockname()[1]}"


def _marker(db: str) -> Path | None:
    return None if db == ":memory:" else Path(f"{db}.serving")


def _remove(marker: Path | None) -> None:
    if marker is not None:
        marker.unlink(missing_ok=True)


def _stop_on_signals(server: uvicorn.Server) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        server.should_exit = True

    with suppress(ValueError):  # not the main thread: the caller stops the server
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)

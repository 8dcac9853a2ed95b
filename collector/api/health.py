"""Says whether the collector lives, is ready, and what it counted; needs no token and tells no secret."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import duckdb
from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from collector.api.services import Parts, Services
from signals.errors import StoreError

router = APIRouter(tags=["operation"])
#: Content type of Prometheus' text format.
TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
#: Below this the disk is called full: a checkpoint needs room.
MIN_FREE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Check:
    """One named check: `ok` False makes the server not ready; a warning only tells."""

    name: str
    ok: bool
    detail: str
    warning: bool = False


@router.get("/healthz", summary="Alive")
async def healthz() -> dict[str, str]:
    """Answer as long as the process serves."""
    return {"status": "ok"}


@router.get("/readyz", summary="Ready, with named checks")
def readyz(parts: Parts) -> JSONResponse:
    """Return every check; 503 when one fails."""
    checks = [check(parts) for check in CHECKS]
    ready = all(check.ok for check in checks)
    content = {
        "status": "ready" if ready else "not ready",
        "checks": [
            {
                "name": c.name,
                "status": "ok" if c.ok and not c.warning else "warn" if c.ok else "fail",
                "detail": c.detail,
            }
            for c in checks
        ],
    }
    return JSONResponse(content, 200 if ready else 503)


@router.get("/metrics", summary="The collector's own metrics", response_class=PlainTextResponse)
def own_metrics(parts: Parts) -> Response:
    """Return Prometheus text of what the collector received, stored, refused and answered."""
    return Response(exposition(parts), media_type=TEXT_FORMAT)


def exposition(parts: Services) -> str:
    """Return the text: `sloscope_collector_*`, base units, `_total` for counts."""
    lines: list[str] = []
    done = parts.writer.counts
    gauges: list[tuple[str, str, float]] = [
        ("writer_waiting", "submissions that wait for the writer", parts.writer.waiting),
        ("writer_alive", "1 while the writer thread runs", float(parts.writer.alive)),
        ("last_commit_timestamp_seconds", "time of the last commit", done.last_commit or 0.0),
        ("database_bytes", "size of the database file", float(_size(parts))),
    ]
    counters: list[tuple[str, str, float]] = [
        ("transactions", "commits", done.transactions),
        ("batches_stored", "batches committed", done.stored),
        ("batches_repeated", "batches that were already known", done.repeated),
        ("batches_failed", "batches that the store refused", done.failed),
        ("requests_joined", "requests written by joins", done.joined),
        ("commit_seconds", "time in commits", done.seconds),
    ]
    for name, help_, value in gauges:
        lines += _family(name, "gauge", help_, [("", value)])
    for name, help_, value in counters:
        lines += _family(f"{name}_total", "counter", help_, [("", value)])
    families: dict[str, list[tuple[str, float]]] = {}
    for name, labels, value in parts.counters.items():
        text = ",".join(f'{key}="{_escaped(word)}"' for key, word in labels)
        families.setdefault(name, []).append((f"{{{text}}}" if text else "", value))
    for name, samples in families.items():
        lines += _family(f"{name}_total", "counter", f"{name.replace('_', ' ')} since the start", samples)
    return "\n".join(lines) + "\n" + "".join(parts.published.values())


def _family(name: str, kind: str, help_: str, samples: list[tuple[str, float]]) -> list[str]:
    full = f"sloscope_collector_{name}"
    head = [f"# HELP {full} {help_}", f"# TYPE {full} {kind}"]
    return head + [f"{full}{labels} {value:.17g}" for labels, value in samples]


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _size(parts: Services) -> int:
    path = parts.store.path
    return path.stat().st_size if path is not None and path.exists() else 0


def _store_check(parts: Services) -> Check:
    try:
        cursor = parts.store.cursor()
        try:
            cursor.execute("select 1").fetchone()
        finally:
            cursor.close()
    except duckdb.Error as error:
        _probe(parts)
        return Check("store", False, str(error).splitlines()[0])
    return Check("store", True, "answers")


def _writer_check(parts: Services) -> Check:
    if not parts.writer.alive:
        return Check(
            "writer", False, f"the writer thread has ended: {parts.writer.counts.last_error or 'no reason known'}"
        )
    refused = parts.writer.counts.refused
    if refused is not None:
        _probe(parts)
        return Check("writer", False, f"the last commit failed, every check tries again: {refused}")
    return Check("writer", True, f"{parts.writer.waiting} submissions wait")


def _probe(parts: Services) -> None:
    """Try a small write: a server that is not ready is sent nothing that would show that the disk has room again."""
    now = round(parts.clock().timestamp() * 1e6)
    with suppress(StoreError):  # a full queue says enough
        parts.writer.probe(
            lambda: parts.store.run("collector.store", ("progress_set",), {"name": "probed", "value": now})
        )


def _ingest_check(parts: Services) -> Check:
    last = parts.writer.counts.last_commit
    if last is None:
        return Check("ingest", True, "nothing has arrived since the start", warning=True)
    age = parts.clock().timestamp() - last
    return Check("ingest", True, f"last commit {age:.1f} s ago", warning=age > parts.config.stale_seconds)


def _disk_check(parts: Services) -> Check:
    if parts.store.path is None:
        return Check("disk", True, "in memory")
    folder = parts.store.path.resolve().parent
    free = shutil.disk_usage(folder).free
    if not os.access(folder, os.W_OK):
        return Check("disk", False, "the database's folder is not writable")
    return Check("disk", free >= MIN_FREE_BYTES, f"{free / 1e9:.1f} GB free")


def _security_check(parts: Services) -> Check:
    faults = [fault for fault in (parts.tokens.fault, parts.audit.fault) if fault]
    return Check("security", True, "; ".join(faults) or "tokens and audit log are usable", warning=bool(faults))


CHECKS: tuple[Callable[[Services], Check], ...] = (
    _store_check,
    _writer_check,
    _ingest_check,
    _disk_check,
    _security_check,
)

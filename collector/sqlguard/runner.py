"""Runs a guarded query within its limits: rows, time (by interrupt) and a fair share of the machine; never writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from collector.sqlguard.guard import Guard
from signals.errors import QueryRefusedError, RateLimitedError

#: How long a query waits for its turn before the client is told to come back.
TURN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Rows returned, seconds of run time, queries at the same time."""

    rows: int = 100_000
    seconds: float = 30.0
    at_once: int = 2


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows as an Arrow table, whether the row limit cut them, and how long the query ran."""

    table: pa.Table
    truncated: bool
    seconds: float


@dataclass(slots=True)
class QueryRunner:
    """Runs queries on cursors that `cursor` opens. One query per client at a time, `at_once` in all."""

    cursor: Callable[[], duckdb.DuckDBPyConnection]
    limits: QueryLimits = field(default_factory=QueryLimits)
    guard: Guard = field(default_factory=Guard)
    _turns: threading.Semaphore = field(init=False)
    _running: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._turns = threading.Semaphore(self.limits.at_once)

    def run(self, text: str, client: str, rows: int | None = None) -> QueryResult:
        """Return at most `rows` (and the configured limit) rows. Raise QueryRefusedError or RateLimitedError."""
        wanted = min(rows or self.limits.rows, self.limits.rows)
        with self._lock:
            if client in self._running:
                raise RateLimitedError(f"another query of {client} is still running", retry_after=1)
            self._running.add(client)
        try:
            if not self._turns.acquire(timeout=TURN_SECONDS):
                raise RateLimitedError(f"{self.limits.at_once} queries are running already", retry_after=2)
            try:
                return self._run(text, wanted)
            finally:
                self._turns.release()
        finally:
            with self._lock:
                self._running.discard(client)

    def _run(self, text: str, wanted: int) -> QueryResult:
        cursor = self.cursor()
        started = time.perf_counter()
        expired = threading.Event()

        def stop() -> None:
            expired.set()
            cursor.interrupt()

        timer = threading.Timer(self.limits.seconds, stop)
        timer.daemon = True
        try:
            self.guard.check(cursor, text)
            timer.start()
            table = _fetch(cursor, text, wanted + 1)
        except duckdb.Error as error:
            if expired.is_set():
                raise QueryRefusedError(
                    f"the query ran longer than {self.limits.seconds:g} s and was stopped"
                ) from None
            raise QueryRefusedError(f"the query failed: {_first_lines(error)}") from error
        finally:
            timer.cancel()
            cursor.close()
        truncated = table.num_rows > wanted
        return QueryResult(table.slice(0, wanted), truncated, time.perf_counter() - started)


def _fetch(cursor: duckdb.DuckDBPyConnection, text: str, rows: int) -> pa.Table:
    """Read batches until `rows` are there; the rest of the result is never computed."""
    reader: pa.RecordBatchReader = _exact(cursor.sql(text)).to_arrow_reader(min(rows, 65_536))
    batches = []
    seen = 0
    for batch in reader:
        batches.append(batch)
        seen += batch.num_rows
        if seen >= rows:
            break
    return pa.Table.from_batches(batches, schema=reader.schema).slice(0, rows)


def _exact(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return the relation with its 128-bit sums as 64-bit integers: Arrow would carry them as floats."""
    names, kinds = relation.columns, [str(kind) for kind in relation.types]
    if "HUGEINT" not in kinds or len(set(names)) != len(names):
        return relation
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    return relation.project(
        ", ".join(
            f"cast({name} as bigint) as {name}" if kind == "HUGEINT" else name
            for name, kind in zip(quoted, kinds, strict=True)
        )
    )


def _first_lines(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("LINE")]
    return " ".join(lines[:2])[:500]

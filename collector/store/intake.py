"""Sorts batches by how they are written and turns scrapes into rows and columns; knows the lives and edges so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import duckdb
import pyarrow as pa

from collector.store.batch import Batch, ColumnBatch, HalfBatch, TableBatch
from collector.store.columns import KnownLives, column_tables
from collector.store.known import known_edge_sets, known_lives
from collector.store.ledger import ledger_table
from collector.store.rows import EdgeSets, Rows, add_host_rows, add_scrape
from signals.records import GONE, HostRows, Identity, Scrape


@dataclass(slots=True)
class Ready:
    """What one commit writes, sorted by how."""

    rows: Rows = field(default_factory=Rows)
    columns: dict[str, pa.Table] = field(default_factory=dict)
    halves: list[HalfBatch] = field(default_factory=list)
    tables: list[TableBatch] = field(default_factory=list)
    lives: list[dict[str, object]] = field(default_factory=list)


class Intake:
    """Held state: the bucket edges and instance lives that the store knows; `reread` after a commit that failed."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._seen = KnownLives()
        self.reread()

    def reread(self) -> None:
        """Know again only what is stored."""
        self._edges = EdgeSets(known_edge_sets(self._connection))
        self._lives = known_lives(self._connection)
        self._seen.clear()

    def sort(self, batches: Sequence[Batch], identities: set[Identity]) -> Ready:
        """Return what is to be written for `batches`, with the ledger's rows of `identities`."""
        ready = Ready()
        rows = ready.rows
        columns: list[ColumnBatch] = []
        now = datetime.now(UTC)
        for batch in batches:
            if isinstance(batch, Scrape):
                add_scrape(batch, rows, self._edges)
                ready.lives.extend(self._lives.observe(batch))
                if batch.state == GONE:
                    self._seen.clear()
                _note_error(rows, now, batch.target.instance, batch.state, batch.error)
            elif isinstance(batch, ColumnBatch):
                columns.append(batch)
                self._columns(batch, ready, now)
            elif isinstance(batch, HostRows):
                add_host_rows(batch, rows)
            elif isinstance(batch, HalfBatch):
                ready.halves.append(batch)
                if batch.empty:
                    rows.add("quality", quality_row(now, batch.identity.agent, "empty_span", batch.empty, None))
            else:
                ready.tables.append(batch)
        ready.lives.extend(rows.tables.pop("instances", []))
        if columns:
            ready.columns.update(column_tables(columns, lambda edges: self._edges.number(edges, rows)))
        ready.columns["ledger"] = ledger_table(identities, now)
        return ready

    def _columns(self, batch: ColumnBatch, ready: Ready, now: datetime) -> None:
        """Note the lives and the errors of scrapes that came as columns."""
        for scrape in self._seen.fresh(batch):
            ready.lives.extend(self._lives.observe(scrape))
        for source in batch.sources:
            if source.state == GONE:
                self._seen.clear()  # who comes back is to be seen again
            _note_error(ready.rows, now, source.target.instance, source.state, source.error)


def quality_row(ts: datetime, source: str | None, kind: str, count: int, example: str | None) -> dict[str, object]:
    """Return a row of `quality`: something that was wrong with what came in."""
    return {"ts": ts, "source": source, "kind": kind, "count": count, "example": example and example[:500]}


def _note_error(rows: Rows, now: datetime, instance: str, state: str, error: str | None) -> None:
    if error:
        rows.add("quality", quality_row(now, instance, f"scrape_{state}", 1, error))

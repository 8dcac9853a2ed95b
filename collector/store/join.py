"""Joins committed request halves into requests and counts their latencies; halves come in any order, days apart.

Touched is what new halves can change: their own requests, and those of the other side that share a response id or a
trace. Their rows are rebuilt from all their halves and replace the old ones; latency bins take signed counts, so a
request that is joined late is moved, never counted twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from collector.store.batch import Batch, ColumnBatch
from collector.store.columns import sightings
from collector.store.sqlfiles import sql
from collector.store.transaction import take_back
from signals.records import Scrape

PACKAGE = "collector.store"
#: Two halves of one request happened within a day of each other, by either clock.
REACH_NS = 86_400_000_000_000
STEPS = (
    "join_touched_gateways", "join_parts", "join_gateways", "join_gateways_merged", "join_members", "join_engines",
    "join_engines_merged", "join_pairs", "join_clocks", "join_requests",
    "join_replaced", "join_delete", "join_insert", "bins_counted", "bins_groups", "bins_places",
    "bins_values", "bins_latency", "bins_instance",
)  # fmt: skip


class Joiner:
    """Knows how far the halves are joined and which models were sampled when."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, tenant_from: str = "team_alias") -> None:
        self._connection = connection
        self._tenant_from = tenant_from
        self._sampled: dict[tuple[str, str], tuple[int, int]] = {}
        #: Whether an (instance, model) was sampled for the first time since the last join.
        self._retouch = False
        for instance, model, first, last in connection.execute(sql(PACKAGE, "join_sampled")).fetchall():
            self._sampled[(instance, model)] = (first, last)
        row = self._row("select value from stored.progress where name = $name", {"name": "joined_halves"})
        self._done = int(str(row[0])) if row else 0

    def observe(self, batches: Sequence[Batch]) -> None:
        """Note which models were sampled by committed scrapes."""
        for batch in batches:
            if isinstance(batch, Scrape):
                for found in batch.increments:
                    if found.model is not None:
                        key = (batch.target.instance, found.model)
                        self._retouch |= key not in self._sampled
                        first, last = self._sampled.get(key, (batch.time_ns, batch.time_ns))
                        self._sampled[key] = (min(first, batch.time_ns), max(last, batch.time_ns))
            elif isinstance(batch, ColumnBatch):
                for instance, model, low, high in sightings(batch):
                    self._retouch |= (instance, model) not in self._sampled
                    first, last = self._sampled.get((instance, model), (low, high))
                    self._sampled[(instance, model)] = (min(first, low), max(last, high))

    def join(self) -> int:
        """Join every half that was committed since the last call; return the number of requests written.

        A model that is sampled for the first time also names the requests that came before its first scrape.
        """
        window = self._row(sql(PACKAGE, "join_window"), {"after": self._done, "retouch": self._retouch})
        if window is None or window[0] is None:
            self._retouch = False
            return 0
        low, high, newest = (int(str(value)) for value in window)
        values: dict[str, object] = {
            "after": self._done,
            "retouch": self._retouch,
            "low": low - REACH_NS,
            "high": high + REACH_NS,
            "tenant_from": self._tenant_from,
        }
        self._connection.register("sampled", self._sampled_table())
        self._connection.execute("begin")
        try:
            for step in STEPS:
                statement = sql(PACKAGE, step)
                self._connection.execute(statement, {k: v for k, v in values.items() if f"${k}" in statement})
            self._connection.execute(sql(PACKAGE, "progress_set"), {"name": "joined_halves", "value": newest})
            row = self._row("select count(*) from joined_requests", {})
            self._connection.execute("commit")
        except BaseException:
            take_back(self._connection)
            raise
        finally:
            self._connection.unregister("sampled")
        self._done = newest
        self._retouch = False
        return int(str(row[0])) if row else 0

    def _row(self, statement: str, values: dict[str, object]) -> tuple[object, ...] | None:
        """Return the only row; everything is fetched, since an open result blocks the connection."""
        rows: list[tuple[object, ...]] = self._connection.execute(statement, values).fetchall()
        return rows[0] if rows else None

    def _sampled_table(self) -> pa.Table:
        items = list(self._sampled.items())
        return pa.table(
            {
                "instance": pa.array([key[0] for key, _ in items], type=pa.string()),
                "model": pa.array([key[1] for key, _ in items], type=pa.string()),
                "first_ns": pa.array([span[0] for _, span in items], type=pa.int64()),
                "last_ns": pa.array([span[1] for _, span in items], type=pa.int64()),
            }
        )

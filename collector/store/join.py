"""Joins committed request halves into requests and counts their latencies; halves come in any order, days apart.

Touched is what new halves can change: their own requests, and those of the other side that share a response id or a
trace. Their rows are rebuilt from all their halves and replace the old ones; latency bins take signed counts, so a
request that is joined late is moved, never counted twice. Most halves come with their partners and touch nothing older.

A join looks for older halves near the new ones and among those noted as far; `join_far` looks once more within a day.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from collector.store.far import NEAR_NS, REACH_NS, extent, note_far
from collector.store.half_store import HalfStore, seeds_of
from collector.store.halves import Sides, joined_sides, no_halves
from collector.store.join_pairs import paired
from collector.store.join_rows import Requests, request_rows
from collector.store.join_sides import engine_side, gateway_side, touched
from collector.store.keys import Keys
from collector.store.latency_counts import LatencyCounts
from collector.store.sampled import Sampled
from collector.store.sqlfiles import sql
from collector.store.transaction import transaction

PACKAGE = "collector.store"
#: Halves that one transaction joins, and requests whose model is looked for again in one: about half a second.
SLICE = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class _Old:
    """Requests of earlier joins that are joined again because their model may be known now."""

    keys: Keys
    parts: Keys


class Joiner:
    """Knows how far the halves are joined."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, counts: LatencyCounts, tenant_from: str) -> None:
        self._connection = connection
        self._counts = counts
        self._tenant_from = tenant_from
        self.sampled = Sampled(connection.execute(sql(PACKAGE, "join_sampled")).fetchall())
        progress = dict(connection.execute("select name, value from stored.progress").fetchall())
        self._done = int(progress.get("joined_halves", 0))
        #: Up to this sequence halves were joined with what is far from them.
        self.far_done = int(progress.get("joined_far", 0))
        self.halves = HalfStore(connection, self._done)

    @property
    def done(self) -> int:
        """Return the sequence up to which halves are joined."""
        return self._done

    def join_some(self) -> int | None:
        """Join the next halves in one transaction; return the number of requests written, None when none waits.

        A model that is sampled for the first time also names the requests that came before its first scrape.
        """
        if self.sampled.news:
            written = self._name_again()
            self.sampled.news = False
            return written
        fresh = self.halves.waiting(self._done, SLICE)
        if fresh is None:
            return None
        newest = fresh.newest
        written = self._transaction(fresh, _Old(_none(), _none()), newest, extent(fresh), NEAR_NS)
        self._done = newest
        return written

    def join_far(self, seeds: dict[str, Keys], span: tuple[int, int]) -> int:
        """Join again, in one transaction, the requests whose halves have these keys, with all within a day of them."""
        with self._joining():
            found = self.halves.related(self._done, *span, REACH_NS, {**seeds, "part": _none()})
            return self._rebuild(found, found, _Old(_none(), _none()), found.span) if len(found) else 0

    def far_until(self, sequence: int) -> None:
        """Remember up to which half `join_far` has looked."""
        self._connection.execute(sql(PACKAGE, "progress_set"), {"name": "joined_far", "value": sequence})
        self.far_done = sequence

    def _name_again(self) -> int:
        """Join the requests again that have no model."""
        found = self._connection.sql(sql(PACKAGE, "join_nameless")).to_arrow_table().combine_chunks()
        written = 0
        for first in range(0, len(found), SLICE):
            piece = found.slice(first, SLICE)
            old = _Old(_keys(piece["gateway_key"]), _keys(piece["engine_part"]))
            low, high = pc.min_max(piece["start_ns"]).as_py().values()
            written += self._transaction(Sides(no_halves(), no_halves()), old, self._done, (low, high), REACH_NS)
        return written

    def _transaction(self, fresh: Sides, old: _Old, newest: int, span: tuple[int, int], reach: int) -> int:
        """Join fresh halves, or old requests again, that lie in a span of nanoseconds."""
        with self._joining():
            written = self._join(fresh, old, span, reach)
            self._connection.execute(sql(PACKAGE, "progress_set"), {"name": "joined_halves", "value": newest})
        return written

    @contextmanager
    def _joining(self) -> Iterator[None]:
        """Take back what was counted when the transaction is."""
        try:
            with transaction(self._connection):
                yield
        except BaseException:
            with suppress(duckdb.Error):
                self._counts.reread()
            raise

    def _join(self, fresh: Sides, old: _Old, span: tuple[int, int], reach: int) -> int:
        seeds = seeds_of(fresh)
        seeds["key"], seeds["part"] = np.concatenate([seeds["key"], old.keys]), old.parts
        related = self.halves.related(self._done, *span, reach, seeds)
        if not len(related):
            return self._rebuild(fresh, fresh, old, None) if len(fresh) else 0
        halves = joined_sides([fresh, related])
        low, high = halves.span
        return self._rebuild(halves, fresh, old, (min(low, span[0]), max(high, span[1])))

    def _rebuild(self, halves: Sides, fresh: Sides, old: _Old, span: tuple[int, int] | None) -> int:
        """Write the requests that the fresh halves touch, in place of older rows that begin in the span, if any do."""
        found = touched(halves, fresh, old.keys, old.parts)
        aliases = dict(self._connection.execute(sql(PACKAGE, "join_aliases")).fetchall())
        gateways = gateway_side(self._connection, found.gateways, found.request, aliases)
        engines, parts = engine_side(self._connection, found.engines, found.wanted, aliases)
        about = {row[0]: row[1:] for row in self._connection.execute(sql(PACKAGE, "join_instances")).fetchall()}
        pairs = paired(gateways, engines)
        requests = request_rows(gateways, engines, pairs, self.sampled, self._tenant_from, about)
        replaced = None
        if span is not None:
            keys = np.concatenate([gateways.key, found.claimed])
            replaced = self._replaced(keys, parts, {"low": span[0], "high": span[1]})
        self._write(requests, replaced)
        note_far(self._connection, halves)
        return len(requests.table)

    def _replaced(self, keys: Keys, parts: Keys, span: dict[str, int]) -> pa.Table:
        """Remove the rows that the new ones replace, and return them."""
        self._connection.register("replaced_keys", pa.table({"value": pa.array(keys)}))
        self._connection.register("replaced_parts", pa.table({"value": pa.array(parts)}))
        replaced = self._connection.sql(sql(PACKAGE, "join_replaced"), params=span).to_arrow_table()
        if len(replaced):
            self._connection.execute(sql(PACKAGE, "join_delete"), span)
        self._connection.unregister("replaced_keys")
        self._connection.unregister("replaced_parts")
        return replaced

    def _write(self, found: Requests, replaced: pa.Table | None) -> None:
        faults = found.clock_faults if replaced is None else _not_told(found.clock_faults, replaced)
        if len(faults):
            self._connection.register("clock_faults", faults)
            self._connection.execute(sql(PACKAGE, "join_clocks"))
            self._connection.unregister("clock_faults")
        if len(found.table):
            self._connection.register("joined_requests", found.table)
            columns = ", ".join(f'"{name}"' for name in found.table.column_names)
            self._connection.execute(
                f"insert into stored.requests ({columns}) select {columns} from joined_requests"  # noqa: S608  # own names only
            )
            self._connection.unregister("joined_requests")
        if len(found.table) or replaced is not None:
            self._counts.count(with_tpot(found.table), replaced)


def _not_told(faults: pa.Table, replaced: pa.Table) -> pa.Table:
    """Return the faults of requests that were not joined before: a request that is joined again is told once."""
    joined = replaced.filter(pc.equal(replaced["source"], "joined"))["gateway_key"]
    return faults.filter(pc.invert(pc.is_in(faults["gateway_key"], value_set=joined.combine_chunks())))


def with_tpot(table: pa.Table) -> pa.Table:
    """Return the requests with their time per output token, which the store computes."""
    if not {"output_tokens", "e2e_seconds", "ttft_seconds"} <= set(table.column_names):
        return table
    e2e, ttft, tokens = (
        table[name].to_numpy().astype(np.float64) for name in ("e2e_seconds", "ttft_seconds", "output_tokens")
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        tpot: npt.NDArray[np.float64] = np.where(tokens > 1, (e2e - ttft) / (tokens - 1), np.nan)
    return table.append_column("tpot_seconds", pa.array(tpot))


def _none() -> Keys:
    return np.zeros(0, np.uint64)


def _keys(column: pa.ChunkedArray) -> Keys:
    found: Keys = column.drop_null().to_numpy()
    return found

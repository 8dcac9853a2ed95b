"""Keeps request halves: an index of keys to find them by, their bodies compressed; remembers what is not joined yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from collector.store.batch import HalfBatch
from collector.store.far import ends
from collector.store.halves import GATEWAY, Halves, Sides, joined_sides, no_halves, packed, sides_of, unpacked
from collector.store.keys import Keys
from collector.store.sqlfiles import sql

PACKAGE = "collector.store"
#: Halves that wait to be joined and are held in memory as well, at most: about 100 MB.
HELD = 300_000
#: What is found this near to what is asked for needs no further look.
MARGIN_NS = 300_000_000_000


class HalfStore:
    """All halves of a store, numbered in the order of their commits."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, joined: int) -> None:
        self._connection = connection
        row = connection.execute("select coalesce(max(sequence), 0) from stored.halves").fetchall()[0]
        self._next = max(int(row[0]), joined) + 1
        #: From this sequence on everything is in `_held`, what one commit brought together.
        self._held_from = self._next
        self._held: deque[Sides] = deque()

    def add(self, batches: Sequence[HalfBatch]) -> Sides | None:
        """Write the halves of all batches of a commit, inside the caller's transaction; a part counts once."""
        sides = sides_of([batch.halves for batch in batches])
        if not len(sides):
            return None
        sides = self._fresh(sides)
        if not len(sides):
            return None
        numbered = Sides(sides.gateways.numbered(self._next), sides.engines.numbered(self._next + len(sides.gateways)))
        self._next += len(numbered)
        write_halves(self._connection, [side for side in (numbered.gateways, numbered.engines) if len(side)])
        return numbered

    def hold(self, added: Sides) -> None:
        """Remember halves whose commit is done until they are joined; beyond HELD they are read back instead."""
        self._held.append(added)
        if sum(map(len, self._held)) > HELD:
            self._held.clear()
            self._held_from = self._next

    def waiting(self, after: int, most: int) -> Sides | None:
        """Return about the next `most` halves that come after the sequence `after`, whole commits where possible."""
        if after + 1 < self._held_from:
            rows = self._read("halves_waiting", {"after": after, "before": self._held_from, "most": most})
            if len(rows):
                return by_side(rows)
            self._held_from = after + 1
        while self._held and self._held[0].newest <= after:
            self._held.popleft()
        taken: list[Sides] = []
        for commit in self._held:
            taken.append(commit)
            if sum(map(len, taken)) >= most:
                break
        return joined_sides(taken) if taken else None

    def related(self, until: int, low: int, high: int, reach: int, seeds: dict[str, Keys]) -> Sides:
        """Return the halves up to the sequence `until` that the seeds lead to, directly or over one another.

        `seeds` has keys by kind: match, trace, key (which aliases name as well) and part; they are of halves that lie
        between `low` and `high`, and each half leads to what begins within `reach` of it. All in nanoseconds.
        """
        found: list[Sides] = []
        known = np.zeros(0, np.int64)
        asked = {kind: np.zeros(0, np.uint64) for kind in seeds}
        low, high = low - MARGIN_NS, high + MARGIN_NS
        while any(len(keys) for keys in seeds.values()):
            for kind, keys in seeds.items():
                self._connection.register(f"seed_{kind}", pa.table({"value": pa.array(keys)}))
            rows = self._read("halves_related", {"until": until, "low": low - reach, "high": high + reach}, known)
            for kind in seeds:
                self._connection.unregister(f"seed_{kind}")
            if not len(rows):
                break
            found.append(by_side(rows))
            known = np.concatenate([known, rows.sequence])
            asked = {kind: np.union1d(asked[kind], keys) for kind, keys in seeds.items()}
            leads = seeds_of(found[-1])
            seeds = {kind: np.setdiff1d(leads[kind], asked[kind]) for kind in asked}
            beyond = (rows.start_ns < low) | (ends(rows) > high)
            if beyond.any():  # these lead further than was asked
                further = seeds_of(by_side(rows.keep(beyond)))
                seeds = {kind: np.union1d(seeds[kind], further[kind]) for kind in asked}
                low, high = min(low, int(rows.start_ns.min())), max(high, int(ends(rows).max()))
        return joined_sides(found) if found else Sides(no_halves(), no_halves())

    def _fresh(self, sides: Sides) -> Sides:
        """Return the halves whose part is not stored yet, each part once."""
        part = np.concatenate([sides.gateways.part, sides.engines.part])
        unique, last = np.unique(part[::-1], return_index=True)
        fresh = np.zeros(len(part), bool)
        fresh[len(part) - 1 - last] = True  # the last of several counts
        low, high = sides.span
        self._connection.register("incoming_parts", pa.table({"part": pa.array(unique)}))
        known = self._connection.execute(sql(PACKAGE, "halves_known"), {"low": low, "high": high}).fetchall()
        self._connection.unregister("incoming_parts")
        if known:
            fresh &= ~np.isin(part, np.array([row[0] for row in known], np.uint64))
        first = len(sides.gateways)
        return Sides(sides.gateways.keep(fresh[:first]), sides.engines.keep(fresh[first:]))

    def _read(self, name: str, params: dict[str, int], known: npt.NDArray[np.int64] | None = None) -> Halves:
        """Return the halves that a statement over the index names, but those that are known, with their bodies."""
        index = self._connection.sql(sql(PACKAGE, name), params=params).to_arrow_table()
        columns = {name: index[name].to_numpy() for name in index.column_names}
        if known is not None and len(known):
            new = ~np.isin(columns["sequence"], known)
            columns = {name: values[new] for name, values in columns.items()}
        sequence = columns["sequence"]
        if not len(sequence):
            return no_halves()
        order = np.argsort(sequence)
        columns = {name: values[order] for name, values in columns.items()}
        return Halves(**columns, body=self._bodies(columns["sequence"]))

    def _bodies(self, sequence: npt.NDArray[np.int64]) -> pa.Table:
        """Return the bodies of these halves, which are in order."""
        self._connection.register("wanted_halves", pa.table({"sequence": pa.array(sequence)}))
        rows = self._connection.execute(
            sql(PACKAGE, "half_bodies"), {"low": int(sequence[0]), "high": int(sequence[-1])}
        ).fetchall()
        self._connection.unregister("wanted_halves")
        pieces = []
        for first, count, content in rows:
            inside = sequence[np.searchsorted(sequence, first) : np.searchsorted(sequence, first + count)]
            pieces.append(unpacked(content).take(pa.array(inside - first)))
        return pa.concat_tables(pieces, promote_options="default").combine_chunks()


def by_side(halves: Halves) -> Sides:
    """Return the halves of each side."""
    gateway = halves.side == GATEWAY
    return Sides(halves.keep(gateway), halves.keep(~gateway))


def seeds_of(sides: Sides) -> dict[str, Keys]:
    """Return the keys that lead to halves of the same requests; some may be there several times."""
    gateways, engines = sides.gateways, sides.engines
    return {
        "match": _told(gateways.match, engines.match),
        "trace": _told(gateways.trace, engines.trace),
        "key": _told(gateways.key, gateways.alias),
        "part": np.zeros(0, np.uint64),
    }


def _told(*keys: Keys) -> Keys:
    found: Keys = np.concatenate(keys)
    return np.asarray(found[found != 0])


def write_halves(connection: duckdb.DuckDBPyConnection, sides: Sequence[Halves]) -> None:
    """Insert numbered halves, one body for each piece, inside the caller's transaction."""
    connection.register("incoming_halves", pa.concat_tables([side.index() for side in sides]))
    connection.execute(sql(PACKAGE, "halves_insert"))
    connection.unregister("incoming_halves")
    bodies = pa.table(
        {
            "first_sequence": pa.array([int(side.sequence[0]) for side in sides], pa.int64()),
            "rows": pa.array([len(side) for side in sides], pa.int32()),
            "last_ns": pa.array([int(side.start_ns.max()) for side in sides], pa.int64()),
            "body": pa.array([packed(side.body) for side in sides], pa.binary()),
        }
    )
    connection.register("incoming_bodies", bodies)
    connection.execute(sql(PACKAGE, "half_bodies_insert"))
    connection.unregister("incoming_bodies")

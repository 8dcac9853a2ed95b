"""Tells which halves are far, in time, from what they belong to; a join looks near its halves and among these.

Far is a half that lasts long, and one of several halves with the same key that begin far apart: what comes next to
one end must find the other, or the request would be built from a part of its halves.
"""

from __future__ import annotations

from typing import TypeAlias

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from collector.store.halves import Halves, Sides
from collector.store.keys import Keys
from collector.store.sqlfiles import sql

PACKAGE = "collector.store"
#: Halves of one request begin within this of each other, or of each other's end, unless a clock is wrong or a part of
#: it waited: such are found once an hour.
NEAR_NS = 900_000_000_000
#: What still belongs together, by either clock.
REACH_NS = 86_400_000_000_000
KINDS = ("match", "trace", "key")
#: Keys whose requests one transaction joins again.
PIECE = 8_192
#: Newer halves that are looked for at once: bounds the memory of it to some 150 MB.
STEP = 500_000
Times: TypeAlias = npt.NDArray[np.int64]


def ends(halves: Halves) -> Times:
    """Return when each half ends: at its start where it does not say, within a day of it otherwise."""
    start = halves.start_ns
    if "end_ns" not in halves.body.column_names:
        return start
    told: Times = pc.fill_null(halves.body["end_ns"], 0).to_numpy()
    return np.clip(told, start, start + REACH_NS)


def extent(sides: Sides) -> tuple[int, int]:
    """Return the first start and the last end of all halves, of which there is one at least."""
    last = max(int(ends(side).max()) for side in (sides.gateways, sides.engines) if len(side))
    return sides.span[0], last


def note_far(connection: duckdb.DuckDBPyConnection, sides: Sides) -> None:
    """Store which of the halves are far, inside the caller's transaction."""
    low, high = extent(sides)
    if high - low <= NEAR_NS:
        return
    far = _far(sides)
    if len(far):
        connection.register("incoming_far", far)
        for name in ("far_halves_delete", "far_halves_insert"):
            connection.execute(sql(PACKAGE, name))
        connection.unregister("incoming_far")


def _far(sides: Sides) -> pa.Table:
    gateways, engines = sides.gateways, sides.engines
    names = ("sequence", "key", "part", "match", "trace", "alias")
    columns = {name: np.concatenate([getattr(gateways, name), getattr(engines, name)]) for name in names}
    start = np.concatenate([gateways.start_ns, engines.start_ns])
    end = np.concatenate([ends(gateways), ends(engines)])
    low, high = start.copy(), end.copy()
    rows = np.arange(len(start))
    for kinds in (("match",), ("trace",), ("key", "alias")):
        keys = np.concatenate([columns[kind] for kind in kinds])
        _widen(keys, np.tile(rows, len(kinds)), start, end, low, high)
    far = high - low > NEAR_NS
    table = {name: pa.array(values[far]) for name, values in columns.items()}
    return pa.table({**table, "low_ns": pa.array(low[far]), "high_ns": pa.array(high[far])})


def _widen(keys: Keys, rows: npt.NDArray[np.intp], start: Times, end: Times, low: Times, high: Times) -> None:
    """Widen each row's time to that of all rows that share its key."""
    rows = rows[keys != 0]
    if not len(rows):
        return
    _, group = np.unique(keys[keys != 0], return_inverse=True)
    first, last = np.full(group.max() + 1, np.iinfo(np.int64).max), np.zeros(group.max() + 1, np.int64)
    np.minimum.at(first, group, start[rows])
    np.maximum.at(last, group, end[rows])
    np.minimum.at(low, rows, first[group])
    np.maximum.at(high, rows, last[group])


def far_pieces(
    connection: duckdb.DuckDBPyConnection, after: int, until: int
) -> list[tuple[dict[str, Keys], tuple[int, int]]]:
    """Return keys of halves beyond the sequence `after` whose halves, up to `until`, begin far apart, in pieces.

    Each piece has keys of every kind, and the span of time in nanoseconds in which the newer halves begin.
    """
    numbers = {"after": after, "until": until}
    first, last = connection.execute(sql(PACKAGE, "far_span"), numbers).fetchall()[0]
    if first is None:
        return []
    newer = {**numbers, "first": first, "last": last}
    around = {"until": until, "first": first, "last": last, "near": NEAR_NS, "reach": REACH_NS}
    found: list[tuple[dict[str, Keys], tuple[int, int]]] = []
    for kind in KINDS:
        known = connection.sql(sql(PACKAGE, f"far_newer_{kind}"), params=newer).to_arrow_table()
        connection.register("newer_keys", known)  # of a known size: the smaller side of what follows
        far = connection.sql(sql(PACKAGE, f"far_{kind}"), params=around)
        keys: Keys = far.to_arrow_table()["value"].to_numpy()
        connection.unregister("newer_keys")
        for place in range(0, len(keys), PIECE):
            none = {other: np.zeros(0, np.uint64) for other in KINDS}
            found.append(({**none, kind: keys[place : place + PIECE]}, (first, last)))
    return found

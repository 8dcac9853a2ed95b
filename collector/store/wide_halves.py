"""Moves request halves from the wide table of schema 3 into the index and the bodies of schema 4; used by nothing else.

Keys, parts and aliases stay the numbers that they were: halves that find each other by them did so before the move.
"""

from __future__ import annotations

from itertools import pairwise

import duckdb
import numpy as np
import pyarrow as pa

from collector.store.half_store import write_halves
from collector.store.halves import BODY_TYPES, ENGINE, GATEWAY, Halves
from collector.store.keys import Keys, text_keys
from collector.store.sqlfiles import sql

PACKAGE = "collector.store"
#: Halves that are in memory at once.
SLICE = 50_000


def move_wide_halves(connection: duckdb.DuckDBPyConnection) -> None:
    """Move every half and drop the wide table, inside the caller's transaction."""
    after = 0
    while True:
        params = {"after": after, "most": SLICE}
        rows = connection.sql(sql(PACKAGE, "wide_halves"), params=params).to_arrow_table().combine_chunks()
        if not len(rows):
            break
        for run in _runs(rows):
            write_halves(connection, [_halves(run)])
        after = rows["half_sequence"][-1].as_py()
    connection.execute("drop table stored.wide_halves")


def _runs(rows: pa.Table) -> list[pa.Table]:
    """Return the rows in pieces without a gap in their numbers, which is what a body holds."""
    sequence = rows["half_sequence"].to_numpy()
    cuts = np.flatnonzero(np.diff(sequence) != 1) + 1
    bounds = [0, *cuts.tolist(), len(rows)]
    return [rows.slice(low, high - low) for low, high in pairwise(bounds)]


def _halves(rows: pa.Table) -> Halves:
    count = len(rows)
    side = rows["side"].to_pylist()
    body = {name: rows[name].cast(kind) for name, kind in BODY_TYPES.items() if rows[name].null_count < count}
    return Halves(
        rows["half_sequence"].to_numpy(),
        np.array([GATEWAY if name == "gateway" else ENGINE + (name == "log") for name in side], np.uint8),
        _numbers(rows["key"]),
        _numbers(rows["part"]),
        text_keys(rows["match"], count),
        text_keys(rows["trace_id"], count),
        _numbers(rows["alias"]),
        rows["start_ns"].to_numpy(),
        pa.table(body),
    )


def _numbers(column: pa.ChunkedArray) -> Keys:
    found: Keys = column.fill_null(0).to_numpy()
    return found

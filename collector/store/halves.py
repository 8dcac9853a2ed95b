"""Writes request halves; a part that was sent twice is stored once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter

import duckdb
import pyarrow as pa

from collector.store.batch import HalfBatch
from collector.store.sqlfiles import sql
from signals.spans import RequestHalf

_TEXT, _WHOLE, _REAL = pa.string(), pa.int64(), pa.float64()
_INTEGERS = {"start_ns", "end_ns", "input_tokens", "cached_tokens", "output_tokens", "spec_draft_tokens",
             "spec_accepted_tokens", "attempts", "turn"}  # fmt: skip
COLUMNS: tuple[str, ...] = tuple(field.name for field in fields(RequestHalf))


def _type(name: str) -> pa.DataType:
    if name in _INTEGERS:
        return _WHOLE
    if name.endswith("_seconds") or name == "temperature":
        return _REAL
    if name == "structured":
        return pa.bool_()
    if name == "prefix_hashes":
        return pa.list_(pa.int64())
    return _TEXT


_SCHEMA = pa.schema([(name, _type(name)) for name in COLUMNS])


def halves_table(halves: Sequence[RequestHalf]) -> pa.Table:
    """Return the halves as columns named like the fields of RequestHalf."""
    if not halves:
        return _SCHEMA.empty_table()
    return pa.Table.from_arrays([_column(halves, field) for field in _SCHEMA], schema=_SCHEMA)


def _column(halves: Sequence[RequestHalf], field: pa.Field) -> pa.Array:
    """Return one field of all halves: most fields are None on one side, or throughout."""
    values = list(map(attrgetter(field.name), halves))
    if values.count(None) == len(values):
        return pa.nulls(len(values), field.type)
    return pa.array(values, type=field.type)


def add_halves(cursor: duckdb.DuckDBPyConnection, batches: Sequence[HalfBatch]) -> None:
    """Insert the halves of all batches of a commit at once, inside the caller's transaction; a part counts once."""
    halves = list({half.part: half for batch in batches for half in batch.halves}.values())
    if not halves:
        return
    cursor.register("incoming_halves", halves_table(halves))
    starts = [half.start_ns for half in halves]
    cursor.execute(sql("collector.store", "halves_insert"), {"low": min(starts), "high": max(starts)})
    cursor.unregister("incoming_halves")

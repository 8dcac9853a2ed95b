"""Writes request halves; a part that was sent twice is stored once."""

from __future__ import annotations

from dataclasses import fields

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


def halves_table(halves: tuple[RequestHalf, ...]) -> pa.Table:
    """Return the halves as columns named like the fields of RequestHalf."""
    columns = [pa.array([getattr(half, name) for half in halves], type=_SCHEMA.field(name).type) for name in COLUMNS]
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


def add_halves(cursor: duckdb.DuckDBPyConnection, batch: HalfBatch) -> None:
    """Insert the halves of a batch inside the caller's transaction."""
    if not batch.halves:
        return
    cursor.register("incoming_halves", halves_table(batch.halves))
    starts = [half.start_ns for half in batch.halves]
    cursor.execute(sql("collector.store", "halves_insert"), {"low": min(starts), "high": max(starts)})
    cursor.unregister("incoming_halves")

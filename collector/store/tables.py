"""Imports rows of a public view into its table; a file in the import format becomes the same rows as live data."""

from __future__ import annotations

import duckdb

from collector.store.batch import TableBatch
from collector.store.latency_counts import LatencyCounts
from collector.store.sqlfiles import sql
from signals.errors import InputError, nearest
from signals.views import VIEWS

#: Views whose imported rows need more than a copy.
_STATEMENTS = {"requests": "import_requests", "engine_bins": "import_engine_bins"}
#: What a row is that does not say so, in columns that are never NULL.
_DEFAULTS = {
    "engine_samples": {"scrape_state": "ok", "role": "both", "engine": "unknown"},
    "gpu_samples": {"state": "ok"},
}


def check_columns(view: str, columns: list[str], where: str) -> None:
    """Raise InputError for a column that the view does not have, or for one that an import must bring."""
    known = VIEWS[view].column_names()
    for column in columns:
        if column not in known:
            raise InputError(f"{where}: unknown column {column!r} of {view}{nearest(column, known)}", column=column)
    needed = [column.name for column in VIEWS[view].columns if column.needed and column.name not in columns]
    if needed:
        raise InputError(f"{where}: {view} needs the columns {', '.join(needed)}", missing=needed)
    if view == "requests" and not {"status", "e2e_seconds"} & set(columns):
        raise InputError(f"{where}: requests needs a column status or e2e_seconds", missing=["status"])


def import_table(cursor: duckdb.DuckDBPyConnection, batch: TableBatch, counts: LatencyCounts) -> None:
    """Insert the rows inside the caller's transaction."""
    check_columns(batch.view, batch.table.column_names, batch.view)
    cursor.register("incoming_table", batch.table)
    try:
        cursor.execute("create or replace temp table incoming_rows as select * from incoming_table")
        have = set(batch.table.column_names)
        for column in VIEWS[batch.view].columns:
            if column.name not in have:
                cursor.execute(f'alter table incoming_rows add column "{column.name}" {column.type}')
        if batch.view in _STATEMENTS:
            cursor.execute(sql("collector.store", _STATEMENTS[batch.view]))
            if batch.view == "requests":
                cursor.execute(sql("collector.store", "import_insert"))
                counts.count(cursor.sql(sql("collector.store", "import_count")).to_arrow_table())
        else:
            for name, value in _DEFAULTS.get(batch.view, {}).items():
                cursor.execute(f"update incoming_rows set {name} = $value where {name} is null", {"value": value})  # noqa: S608
            cursor.execute(f"insert into stored.{batch.view} by name select * from incoming_rows")  # noqa: S608
    finally:
        cursor.unregister("incoming_table")

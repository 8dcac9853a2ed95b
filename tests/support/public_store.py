"""An in-memory DuckDB with every public view as an empty table, for tests of answers; not the real schema."""

from __future__ import annotations

import duckdb

from signals.views import VIEWS


def public_store() -> duckdb.DuckDBPyConnection:
    """Return a connection whose tables have the public views' names and columns."""
    connection = duckdb.connect(":memory:")
    connection.execute("set global TimeZone = 'UTC'")
    for view in VIEWS.values():
        columns = ", ".join(f'"{column.name}" {column.type}' for column in view.columns)
        connection.execute(f"create table {view.name} ({columns})")
    return connection

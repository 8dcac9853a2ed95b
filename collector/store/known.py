"""Reads from a store's file what its writer knows by heart: column types, sets of edges, open lives; writes nothing."""

from __future__ import annotations

import duckdb

from collector.store.instances import Lives


def table_types(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """Return the type of each column by table."""
    found: dict[str, dict[str, str]] = {}
    statement = (
        "select table_name, column_name, data_type from duckdb_columns() where schema_name = 'stored' "
        "order by table_name, column_index"
    )
    for table, column, kind in connection.execute(statement).fetchall():
        plain = kind.replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ").replace(", ", ",")
        found.setdefault(table, {})[column] = plain
    return found


def known_edge_sets(connection: duckdb.DuckDBPyConnection) -> dict[tuple[float, ...], int]:
    """Return the number of each set of histogram edges."""
    rows = connection.execute("select edges, edge_set from stored.edge_sets").fetchall()
    return {tuple(edges): number for edges, number in rows}


def known_lives(connection: duckdb.DuckDBPyConnection) -> Lives:
    """Return the lives that have not ended."""
    lives = Lives()
    statement = "select instance, model, max(started_at) from stored.instances where stopped_at is null group by all"
    for instance, model, started_at in connection.execute(statement).fetchall():
        if started_at is not None:
            lives.remember(instance, model, started_at)
    return lives

"""Brings a database file to the newest schema, forward only; a migration is never edited once released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

import duckdb

from collector.store.wide_halves import move_wide_halves
from signals.errors import StoreError

#: What a migration does beyond its statements, in the same transaction.
_MOVES: dict[int, Callable[[duckdb.DuckDBPyConnection], None]] = {4: move_wide_halves}


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file of statements; the first line is a sentence."""

    number: int
    name: str
    statements: str


def migrations() -> tuple[Migration, ...]:
    """Return all migrations in order."""
    folder = files("collector.store").joinpath("migrations")
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return tuple(
        Migration(int(entry.name[:4]), entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8"))
        for entry in sorted(found, key=lambda entry: entry.name)
    )


def schema_version(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the number of the last applied migration, 0 for an empty file; StoreError for someone else's file."""
    tables = {f"{schema}.{name}" for schema, name in _tables(connection)}
    if "stored.migrations" in tables:
        row = connection.execute("select coalesce(max(number), 0) from stored.migrations").fetchall()
        return int(row[0][0])
    if tables:
        raise StoreError(f"this DuckDB file is not a sloscope store: it holds {', '.join(sorted(tables)[:5])}")
    return 0


def require_newest(connection: duckdb.DuckDBPyConnection, place: object) -> None:
    """Raise StoreError when the file at `place` has another schema than this sloscope reads."""
    version, newest = schema_version(connection), migrations()[-1].number
    if version < newest:
        raise StoreError(
            f"{place} has schema {version}, this sloscope reads {newest}: run `sloscope migrate --db {place}`"
        )
    if version > newest:
        raise StoreError(f"{place} has schema {version}, this sloscope knows {newest}: use a newer sloscope")


def migrate(connection: duckdb.DuckDBPyConnection, until: int | None = None) -> list[str]:
    """Apply what is missing (up to the number `until`), each in its own transaction; return their names."""
    current = schema_version(connection)
    known = migrations()
    if current > known[-1].number:
        raise StoreError(
            f"the store has schema {current}, this sloscope knows {known[-1].number}: use a newer sloscope"
        )
    applied = []
    for migration in known:
        if migration.number <= current or migration.number > (until or migration.number):
            continue
        connection.execute("begin")
        try:
            connection.execute(migration.statements)
            if migration.number in _MOVES:
                _MOVES[migration.number](connection)
            if migration.number == 1:
                connection.execute(
                    "create table stored.migrations (number INTEGER not null, name VARCHAR not null, "
                    "applied_at TIMESTAMPTZ not null)"
                )
            connection.execute(
                "insert into stored.migrations values ($number, $name, now())",
                {"number": migration.number, "name": migration.name},
            )
            connection.execute("commit")
        except duckdb.Error:
            connection.execute("rollback")
            raise
        applied.append(migration.name)
    return applied


def _tables(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = connection.execute(
        "select schema_name, table_name from duckdb_tables() where not internal"
    ).fetchall()
    return found

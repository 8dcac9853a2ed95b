"""Opens DuckDB files: writable for the one owner, read-only for commands; says who holds a file that is held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from collector.store.archive import archive_folders
from collector.store.migrate import require_newest
from signals.errors import StoreError

#: The schema of the tables behind the views; a file of that name would be mistaken for it.
SCHEMA = "stored"
#: The newest file format that DuckDB 1.5.5 and 2.x both read.
STORAGE_VERSION = "v1.5.0"
#: A checkpoint compresses again what the tables' last blocks hold, so it pays to make few; replaying this much takes
#: about a second.
CHECKPOINT_SIZE = "64MB"
#: Every cursor of the database shows times in UTC, also once its settings are locked.
IN_UTC = "set global TimeZone = 'UTC'"


def open_writable(path: Path | None, memory_limit: str | None, threads: int | None) -> duckdb.DuckDBPyConnection:
    """Open or create the file at `path` (None: in memory). StoreError says what stands in the way."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "storage_compatibility_version": STORAGE_VERSION,
        "checkpoint_threshold": CHECKPOINT_SIZE,
    }
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    if threads is not None:
        config["threads"] = threads
    if path is not None and path.stem.lower() == SCHEMA:
        raise StoreError(f"{path}: a store cannot be called {SCHEMA!r}, like its own schema; take another file name")
    try:
        connection = duckdb.connect(":memory:" if path is None else str(path), config=config)
    except duckdb.Error as error:
        raise StoreError(_why(path, error)) from error
    connection.execute(IN_UTC)
    return connection


def confine(connection: duckdb.DuckDBPyConnection, folders: Sequence[str]) -> None:
    """Let the database touch files in `folders` only and freeze every setting; nothing undoes that until it closes."""
    if folders:
        connection.execute("set allowed_directories = $folders", {"folders": list(folders)})
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")


@contextmanager
def open_readonly(path: Path, *, guarded: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an existing file for reading; `guarded` also closes all but the archive and locks the settings."""
    if not path.is_file():
        raise StoreError(f"{path}: no such store; `sloscope import --db {path} ...` makes one")
    try:
        connection = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise StoreError(_why(path, error)) from error
    try:
        connection.execute(IN_UTC)
        require_newest(connection, path)
        if guarded:
            confine(connection, archive_folders(connection))
        yield connection
    finally:
        connection.close()


def _why(path: Path | None, error: duckdb.Error) -> str:
    text = str(error).splitlines()[0]
    if "lock" in text.lower():
        return f"{path} is open in another process; ask its server (--url), or stop it: {text}"
    return f"{path} cannot be opened: {text}"

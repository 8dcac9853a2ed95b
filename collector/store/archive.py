"""Moves old days out of the store into sorted Parquet files; the views show hot and cold rows as one.

A day is written, then the boundary moves in one transaction: the view takes rows before it from the files and rows
after it from the table, so that no row is ever shown twice. What comes for a day that is archived is seen when the next
round has archived it too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from collector.store.sqlfiles import sql
from collector.store.transaction import transaction
from signals.errors import StoreError
from signals.views import VIEWS

#: Views that can be archived, and the order that compresses best and reads best.
ORDERS = {"requests": "model, tenant, ts", "engine_samples": "instance, model, ts"}
#: The folder in a view's own text.
_FILES = re.compile(r"read_parquet\('((?:[^']|'')*)/\*\.parquet'")


def archive_days(connection: duckdb.DuckDBPyConnection, folder: Path, view: str, until: datetime) -> int:
    """Write every whole day of `view` before `until` that the table still holds; return how many files were written.

    Rows that came after their day was archived become a file of their own beside it.
    """
    folder = folder.resolve()
    reached = boundary(connection, view)
    end = until.replace(hour=0, minute=0, second=0, microsecond=0)
    end = end if reached is None else max(reached, end)
    statement = f"select distinct date_trunc('day', ts) as day from stored.{view} where ts < $end order by day"  # noqa: S608  # own names only
    days = [day for (day,) in connection.execute(statement, {"end": end}).fetchall()]
    if not days:
        return 0
    target = folder / view
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{target} cannot be made: {error.strerror}") from error
    late = _noted(connection, f"late_{view}") or 0
    for day in days:
        came_late = reached is not None and day < reached
        name = f"{day:%Y-%m-%d}.late-{late}.parquet" if came_late else f"{day:%Y-%m-%d}.parquet"
        _write_day(connection, target / name, view, day)
    notes = {f"archived_{view}": round(end.timestamp() * 1e6)}
    if reached is not None and days[0] < reached:
        notes[f"late_{view}"] = late + 1  # until this is committed, the same files are written again
    _move_boundary(connection, folder, view, end, notes)
    return len(days)


def boundary(connection: duckdb.DuckDBPyConnection, view: str) -> datetime | None:
    """Return the time before which rows of `view` live in files, or None."""
    noted = _noted(connection, f"archived_{view}")
    return None if noted is None else datetime.fromtimestamp(noted / 1e6, UTC)


def _noted(connection: duckdb.DuckDBPyConnection, name: str) -> int | None:
    statement = "select value from stored.progress where name = $name"
    rows: list[tuple[int]] = connection.execute(statement, {"name": name}).fetchall()
    return rows[0][0] if rows else None


def archive_folders(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the folders whose files the public views read; guarded queries may open these and nothing else."""
    rows = connection.execute("select sql from duckdb_views() where schema_name = 'main'").fetchall()
    found = {folder for (text,) in rows for folder in _FILES.findall(text)}
    return sorted(folder.replace("''", "'") for folder in found)


def _show_archive(connection: duckdb.DuckDBPyConnection, folder: Path, view: str, reached: datetime) -> None:
    """Let the public view show the archived files beside the table."""
    if not any((folder / view).glob("*.parquet")):
        return
    columns = ", ".join(f'"{column.name}"' for column in VIEWS[view].columns)
    extra = ", gateway_input_tokens, gateway_output_tokens" if view == "requests" else ""
    place = str(folder / view / "*.parquet").replace("'", "''")
    since = f"cast('{reached.isoformat()}' as timestamptz)"
    connection.execute(
        f"create or replace view {view} as select {columns}{extra} from stored.{view} where ts >= {since} "  # noqa: S608
        f"union all by name select {columns}{extra} from read_parquet('{place}', union_by_name = true) "
        f"where ts < {since}"
    )


def _write_day(connection: duckdb.DuckDBPyConnection, file: Path, view: str, day: datetime) -> None:
    """Write one day beside its place and rename it."""
    until = day + timedelta(days=1)
    columns = ", ".join(f'"{column.name}"' for column in VIEWS[view].columns)
    extra = ", gateway_input_tokens, gateway_output_tokens" if view == "requests" else ""
    partial = file.with_suffix(".partial")
    place = str(partial).replace("'", "''")
    span = f"ts >= cast('{day.isoformat()}' as timestamptz) and ts < cast('{until.isoformat()}' as timestamptz)"
    try:
        connection.execute(
            f"copy (select {columns}{extra} from stored.{view} where {span} order by {ORDERS[view]}) "  # noqa: S608
            f"to '{place}' (format parquet, compression zstd)"
        )
        partial.replace(file)
    except (duckdb.Error, OSError) as error:
        partial.unlink(missing_ok=True)
        raise StoreError(f"{file} cannot be written: {error}") from error


def _move_boundary(
    connection: duckdb.DuckDBPyConnection, folder: Path, view: str, day: datetime, notes: Mapping[str, int]
) -> None:
    """Move the boundary, the view's and the noted one, and drop what now lives in files, in one transaction."""
    with transaction(connection):
        for name, value in notes.items():
            connection.execute(sql("collector.store", "progress_set"), {"name": name, "value": value})
        connection.execute(f"delete from stored.{view} where ts < $day", {"day": day})  # noqa: S608
        _show_archive(connection, folder, view, day)

"""Moves old days out of the store into sorted Parquet files; the views show hot and cold rows as one.

A day is written, then the boundary moves in one transaction: the view takes rows before it from the files and rows
after it from the table, so that no row is ever shown twice or not at all.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

from signals.errors import StoreError
from signals.views import VIEWS

#: Views that can be archived, and the order that compresses best and reads best.
ORDERS = {"requests": "model, tenant, ts", "engine_samples": "instance, model, ts"}
#: The folder in a view's own text.
_FILES = re.compile(r"read_parquet\('((?:[^']|'')*)/\*\.parquet'")


def archive_days(connection: duckdb.DuckDBPyConnection, folder: Path, view: str, until: datetime) -> int:
    """Write every whole day of `view` before `until` that is not archived yet; return how many days were written."""
    folder = folder.resolve()
    reached = boundary(connection, view)
    statement = f"select min(ts) from stored.{view} where ts < $until"  # noqa: S608  # own names only
    first = connection.execute(statement, {"until": until}).fetchall()[0][0]
    if first is None:
        return 0
    day = max(reached or first, first).replace(hour=0, minute=0, second=0, microsecond=0)
    target = folder / view
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{target} cannot be made: {error.strerror}") from error
    written = 0
    while day + timedelta(days=1) <= until:
        written += _write_day(connection, target, view, day)
        day += timedelta(days=1)
    _move_boundary(connection, folder, view, day)
    return written


def boundary(connection: duckdb.DuckDBPyConnection, view: str) -> datetime | None:
    """Return the time before which rows of `view` live in files, or None."""
    rows = connection.execute(
        "select make_timestamptz(value) from stored.progress where name = $name", {"name": f"archived_{view}"}
    ).fetchall()
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


def _write_day(connection: duckdb.DuckDBPyConnection, target: Path, view: str, day: datetime) -> int:
    """Write one day beside its place and rename it; a day without rows makes no file."""
    until = day + timedelta(days=1)
    columns = ", ".join(f'"{column.name}"' for column in VIEWS[view].columns)
    extra = ", gateway_input_tokens, gateway_output_tokens" if view == "requests" else ""
    file = target / f"{day:%Y-%m-%d}.parquet"
    partial = file.with_suffix(".partial")
    place = str(partial).replace("'", "''")
    span = f"ts >= cast('{day.isoformat()}' as timestamptz) and ts < cast('{until.isoformat()}' as timestamptz)"
    try:
        rows = connection.execute(f"select count(*) from stored.{view} where {span}").fetchall()[0][0]  # noqa: S608
        if not rows:
            return 0
        connection.execute(
            f"copy (select {columns}{extra} from stored.{view} where {span} order by {ORDERS[view]}) "  # noqa: S608
            f"to '{place}' (format parquet, compression zstd)"
        )
        partial.replace(file)
    except (duckdb.Error, OSError) as error:
        partial.unlink(missing_ok=True)
        raise StoreError(f"{file} cannot be written: {error}") from error
    return 1


def _move_boundary(connection: duckdb.DuckDBPyConnection, folder: Path, view: str, day: datetime) -> None:
    """Move the boundary, the view's and the noted one, and drop what now lives in files, in one transaction."""
    connection.execute("begin")
    try:
        connection.execute(
            "insert or replace into stored.progress values ($name, $value)",
            {"name": f"archived_{view}", "value": round(day.timestamp() * 1e6)},
        )
        connection.execute(f"delete from stored.{view} where ts < $day", {"day": day})  # noqa: S608
        _show_archive(connection, folder, view, day)
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise

"""Reads Parquet and CSV in the import format into Arrow tables, types checked; traces of arrivals by their columns."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from collector.store.batch import TableBatch
from collector.store.tables import check_columns
from signals.errors import InputError
from signals.records import Identity
from signals.schema import View
from signals.views import VIEWS

#: Names of the time column of a trace: absolute, milliseconds or seconds since its start.
TIME_COLUMNS = ("ts", "ts_ms", "t_s")


def read_table(path: Path, view_name: str, start: datetime | None) -> TableBatch:
    """Return the rows of one file of a public view. InputError names file, column and what was expected."""
    columns = _columns(path)
    view = VIEWS[view_name]
    wanted = {name: name for name in columns}
    if view_name == "arrivals":
        wanted = _with_time(columns, path)
    check_columns(view_name, list(wanted), str(path))
    return TableBatch(_identity(path, view_name, start), view_name, _read(path, view, wanted, start))


def read_arrivals(path: Path, start: datetime | None) -> tuple[TableBatch, tuple[str, ...]] | None:
    """Return the arrivals of a trace and the columns that were left out; None when the file is no trace."""
    columns = _columns(path)
    if not {"input_tokens", "model"} <= columns.keys() or not set(TIME_COLUMNS) & columns.keys():
        return None
    view = VIEWS["arrivals"]
    known = set(view.column_names())
    wanted = {name: source for name, source in _with_time(columns, path).items() if name in known}
    left_out = tuple(name for name in columns if name not in wanted.values())
    return TableBatch(_identity(path, "arrivals", start), "arrivals", _read(path, view, wanted, start)), left_out


def _with_time(columns: dict[str, str], path: Path) -> dict[str, str]:
    found = [name for name in TIME_COLUMNS if name in columns]
    if not found:
        raise InputError(f"{path}: expected a time column, one of {', '.join(TIME_COLUMNS)}")
    wanted = {name: name for name in columns if name not in TIME_COLUMNS}
    return {"ts": found[0], **wanted}


def _columns(path: Path) -> dict[str, str]:
    with duckdb.connect() as connection:
        try:
            statement = f"describe select * from {_reader(path)}"  # noqa: S608  # a constant
            rows = connection.execute(statement, [str(path)]).fetchall()
        except duckdb.Error as error:
            raise InputError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error
    return {str(row[0]): str(row[1]) for row in rows}


def _reader(path: Path) -> str:
    return "read_csv($1, header = true, all_varchar = false)" if path.suffix == ".csv" else "read_parquet($1)"


def _read(path: Path, view: View, wanted: dict[str, str], start: datetime | None) -> pa.Table:
    """Return the wanted columns in the view's types; `wanted` maps the view's names to the file's."""
    types = {column.name: column.type for column in view.columns}
    parts = []
    params: dict[str, object] = {"path": str(path)}
    for name, source in wanted.items():
        if source in {"ts_ms", "t_s"}:
            params["start"] = start or datetime(1970, 1, 1, tzinfo=UTC)
            factor = 1_000 if source == "ts_ms" else 1_000_000
            parts.append(f'$start + to_microseconds(cast("{source}" * {factor} as bigint)) as ts')
        else:
            parts.append(f'cast("{source}" as {types[name]}) as "{name}"')
    statement = f"select {', '.join(parts)} from {_reader(path).replace('$1', '$path')}"  # noqa: S608  # names are checked
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'")
        try:
            table: pa.Table = connection.sql(statement, params=params).to_arrow_table()
        except duckdb.Error as error:
            raise InputError(f"{path}: {str(error).splitlines()[0]}") from error
    for column in view.columns:
        if column.needed and column.name in wanted and table.column(column.name).null_count == table.num_rows > 0:
            raise InputError(f"{path}: column {column.name} is needed and holds nothing", column=column.name)
    return table


def _identity(path: Path, view: str, start: datetime | None) -> Identity:
    digest = hashlib.sha256(f"{view}\n{start}\n".encode())
    digest.update(path.read_bytes())
    return Identity("import", digest.hexdigest(), 0)

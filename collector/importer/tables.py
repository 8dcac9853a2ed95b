"""Reads Parquet and CSV in the import format into Arrow tables, types checked; traces of arrivals by their columns."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from collector.receivers.changes.form import KINDS
from collector.store.batch import TableBatch
from collector.store.tables import check_columns
from signals.errors import InputError, nearest
from signals.records import Identity
from signals.schema import View
from signals.views import VIEWS

#: Names of the time column of a trace: absolute, milliseconds or seconds since its start.
TIME_COLUMNS = ("ts", "ts_ms", "t_s")
#: Types in which programs write NaN where a value is missing.
_FLOATS = ("DOUBLE", "FLOAT")
_FINITE = 'case when isfinite("{0}") then "{0}" end'
_ROLES = ("both", "prefill", "decode")
#: View to column to the values that it knows.
WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    "requests": {
        "status": ("ok", "error", "timeout", "rejected", "aborted", "client_error", "rate_limited"),
        "class": ("interactive", "deferrable"),
        "role": _ROLES,
    },
    "engine_samples": {"scrape_state": ("ok", "failed", "frozen", "gone"), "role": _ROLES},
    "changes": {"kind": KINDS},
    "instances": {"role": _ROLES},
}


def read_table(path: Path, view_name: str, start: datetime | None) -> TableBatch:
    """Return the rows of one file of a public view. InputError names file, column and what was expected."""
    columns = _columns(path)
    view = VIEWS[view_name]
    wanted = {name: name for name in columns}
    if view_name == "arrivals":
        wanted = _with_time(columns, path)
    check_columns(view_name, list(wanted), str(path))
    table = _read(path, view, wanted, columns, start)
    _check_words(path, view_name, table)
    return TableBatch(_identity(path, view_name, start), view_name, table)


def read_arrivals(path: Path, start: datetime | None) -> tuple[TableBatch, tuple[str, ...]] | None:
    """Return the arrivals of a trace and the columns that were left out; None when the file is no trace."""
    columns = _columns(path)
    if not {"input_tokens", "model"} <= columns.keys() or not set(TIME_COLUMNS) & columns.keys():
        return None
    view = VIEWS["arrivals"]
    known = set(view.column_names())
    wanted = {name: source for name, source in _with_time(columns, path).items() if name in known}
    left_out = tuple(name for name in columns if name not in wanted.values())
    table = _read(path, view, wanted, columns, start)
    return TableBatch(_identity(path, "arrivals", start), "arrivals", table), left_out


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


def _read(path: Path, view: View, wanted: dict[str, str], columns: dict[str, str], start: datetime | None) -> pa.Table:
    """Return the wanted columns in the view's types; `wanted` maps the view's names to the file's, NaN is missing."""
    types = {column.name: column.type for column in view.columns}
    parts = []
    params: dict[str, object] = {"path": str(path)}
    for name, source in wanted.items():
        if source in {"ts_ms", "t_s"}:
            params["start"] = start or datetime(1970, 1, 1, tzinfo=UTC)
            factor = 1_000 if source == "ts_ms" else 1_000_000
            parts.append(f'$start + to_microseconds(cast("{source}" * {factor} as bigint)) as ts')
        else:
            value = _FINITE.format(source) if columns[source] in _FLOATS else f'"{source}"'
            parts.append(f'cast({value} as {types[name]}) as "{name}"')
    statement = f"select {', '.join(parts)} from {_reader(path).replace('$1', '$path')}"  # noqa: S608  # names are checked
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'")
        try:
            table: pa.Table = connection.sql(statement, params=params).to_arrow_table()
        except duckdb.Error as error:
            raise InputError(f"{path}: {_reason(error)}") from error
    for column in view.columns:
        if column.needed and column.name in wanted and table.column(column.name).null_count == table.num_rows > 0:
            raise InputError(f"{path}: column {column.name} is needed and holds nothing", column=column.name)
    return table


def _reason(error: duckdb.Error) -> str:
    """Return what DuckDB says of the fault: the place, and the value and column where it names them."""
    lines = [line.strip() for line in str(error).splitlines()]
    return "; ".join([lines[0], *(line for line in lines[1:] if line.startswith("Error when converting"))])


def _check_words(path: Path, view: str, table: pa.Table) -> None:
    """Raise InputError for a value outside a closed list: as it stands nothing would count such rows."""
    for name, known in WORDS.get(view, {}).items():
        if name not in table.column_names:
            continue
        for value in table.column(name).unique().to_pylist():
            if value is not None and value not in known:
                raise InputError(f"{path}: {name} {value!r} is unknown{nearest(value, known)}", column=name)


def _identity(path: Path, view: str, start: datetime | None) -> Identity:
    digest = hashlib.sha256(f"{view}\n{start}\n".encode())
    digest.update(path.read_bytes())
    return Identity("import", digest.hexdigest(), 0)

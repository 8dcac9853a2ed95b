"""Writes a query's rows as JSON, CSV or an Arrow IPC stream; never changes a value."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa

from collector.sqlguard.runner import QueryResult
from signals.errors import UnknownNameError

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"


def to_json(result: QueryResult) -> bytes:
    """Return `{"columns": [..], "rows": [{..}], "truncated": bool}`; NaN and infinities are null, times RFC 3339."""
    rows = [{name: plain(value) for name, value in row.items()} for row in result.table.to_pylist()]
    content = {"columns": result.table.column_names, "rows": rows, "truncated": result.truncated}
    return json.dumps(content, allow_nan=False).encode()


def to_csv(result: QueryResult) -> bytes:
    """Return CSV with a header line; NULL is an empty field."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(result.table.column_names)
    columns = [[_field(value) for value in column.to_pylist()] for column in result.table.columns]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().encode()


def to_arrow(result: QueryResult) -> bytes:
    """Return an Arrow IPC stream; its schema metadata says whether the rows were cut."""
    table = result.table.replace_schema_metadata({"truncated": str(result.truncated).lower()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


FORMATS: dict[str, tuple[str, Callable[[QueryResult], bytes]]] = {
    "json": (JSON, to_json),
    "csv": (CSV, to_csv),
    "arrow": (ARROW, to_arrow),
}


def choose(format_: str | None, accept: str) -> str:
    """Return json, csv or arrow: what `format_` names, else what the Accept header asks for, else json."""
    if format_ is not None:
        if format_ not in FORMATS:
            raise UnknownNameError("format", format_, FORMATS)
        return format_
    lowered = accept.lower()
    if "arrow" in lowered:
        return "arrow"
    return "csv" if "text/csv" in lowered else "json"


def plain(value: object) -> object:
    """Return a value as JSON knows it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        pairs = all(isinstance(item, tuple) and len(item) == 2 for item in value)
        return {str(item[0]): plain(item[1]) for item in value} if value and pairs else [plain(item) for item in value]
    return str(value)


def _field(value: object) -> object:
    if value is None:
        return ""
    found = plain(value)
    return json.dumps(found) if isinstance(found, dict | list) else found

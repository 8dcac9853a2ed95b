"""Prints an answer as JSON, CSV or a table for people; changes no figure."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence

import click
from rich.console import Console
from rich.table import Table

Row = Mapping[str, object]
#: The list that stands for an answer where rows are wanted.
MAIN_LISTS = ("objectives", "causes", "points", "recommendations", "rows", "segments", "steps", "bills", "items")


def show(answer: Mapping[str, object], output: str, columns: Sequence[str] = (), head: Sequence[str] = ()) -> None:
    """Print `answer`. `columns` are the table's columns of the main list, `head` the lines above it."""
    if output == "json":
        click.echo(json.dumps(answer, indent=2, default=str))
        return
    rows = main_rows(answer)
    if output == "csv":
        click.echo(_csv(rows, columns), nl=False)
        return
    for line in head:
        click.echo(line)
    if rows:
        _table(rows, columns)
    elif not head:
        click.echo("nothing to show")


def main_rows(answer: Mapping[str, object]) -> list[Row]:
    """Return the rows of the answer's main list, or the answer itself as one row."""
    for name in MAIN_LISTS:
        rows = answer.get(name)
        if isinstance(rows, list):
            return [row for row in rows if isinstance(row, Mapping)]
    return [answer] if answer else []


def _csv(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Return all that the rows hold; without rows the header names the table's columns."""
    names = list(dict.fromkeys(name for row in rows for name in row)) or list(columns)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_cell_csv(row.get(name)) for name in names])
    return out.getvalue()


def _cell_csv(value: object) -> object:
    return json.dumps(value, default=str) if isinstance(value, Mapping | list) else value


def _table(rows: Sequence[Row], columns: Sequence[str]) -> None:
    names = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        numeric = any(isinstance(row.get(name), int | float) for row in rows)
        table.add_column(name.replace("_", " "), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(cell(row.get(name)) for name in names))
    width = None if sys.stdout.isatty() else 200
    Console(file=sys.stdout, width=width, soft_wrap=False).print(table)


def cell(value: object) -> str:
    """Return one cell as text: a dash for missing, four significant digits, lists joined."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.4g}"
    if isinstance(value, Mapping):
        return " ".join(f"{key}={cell(item)}" for key, item in value.items() if item is not None)
    if isinstance(value, list):
        return ", ".join(cell(item) for item in value)
    return str(value)

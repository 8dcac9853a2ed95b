"""Writes the reference pages of commands and of the SQL schema from the code: `python -m docs.generate`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from collector.cli.main import cli
from collector.config import reference
from collector.store.store import Store
from signals.schema import View
from signals.views import VIEWS

REFERENCE = Path(__file__).resolve().parent / "reference"
EXIT_CODES = "0 ok, 1 failure, 2 usage, 3 objective violated or action pending, 4 unreachable"
#: What the views that the store computes by itself answer.
EVERYDAY = {
    "aborted": "Requests that clients left: increments of the running maximum of first tokens minus finished minus"
    " unfinished; exact at idle moments, else a lower bound.",
    "acceptance": "Speculative decoding: share of accepted draft tokens, tokens per step.",
    "cache_hit": "Prompt tokens read from the prefix cache.",
    "cost_per_mtoken": "Dollars per million tokens by hour and model, with prices as pools.yaml declares them.",
    "coverage": "Requests recorded beside requests that the engines counted.",
    "data_quality": "What came in and could not be used, or only in part.",
    "goodput": "Requests served within a TTFT of two seconds.",
    "token_reconciliation": "Tokens by the engine's count beside the gateway's.",
    "ttft_p99": "P99 and P50 time to first token by minute, model, tenant and length.",
}
MACROS = (
    ("length_bucket(tokens)", "the length bucket of a number of input tokens"),
    ("latency_bin(seconds)", "the latency bin of a duration: relative error at most 1 %"),
    ("bin_value(bin)", "the duration that a latency bin stands for, in seconds"),
    ("bin_quantile(list(bin), list(count), q)", "the quantile of merged latency bins, in seconds"),
)


def commands_page() -> str:
    """Return the page of all commands with their arguments, flags and twins."""
    lines = [
        "# Commands", "",
        "The product goes to stdout, logs and progress to stderr. `-o table|json|csv` chooses how an answer is",
        f"printed. Exit codes: {EXIT_CODES}.", "",
        "Commands that read take `--db FILE` or `--url URL`; a file that a server has open is asked through that",
        "server. With `--db` the answer is given as of the newest stored time, with `--url` as of the clock; `--now`",
        "chooses another. A flag beats its twin in the environment. Secrets come from files only.", "",
        "This page is written by `python -m docs.generate`.", "",
    ]  # fmt: skip
    for name, command in _commands(cli, ""):
        lines += [f"## sloscope {name}", "", *_help(command), ""]
        usage = " ".join(_argument(item) for item in command.params if isinstance(item, click.Argument))
        lines += [f"`sloscope {name} [OPTIONS]{' ' + usage if usage else ''}`", ""]
        if name == "serve":
            lines += ["Every setting of [the collector's configuration](collector-config.md) is a flag, and:", ""]
        settings = {f"--{key.replace('_', '-')}" for key, *_ in reference()} if name == "serve" else set()
        options = [item for item in command.params if isinstance(item, click.Option) and not item.hidden]
        shown = [item for item in options if item.opts[0] not in settings]
        if shown:
            lines += ["| flag | environment | default | meaning |", "|---|---|---|---|", *map(_option, shown), ""]
    return "\n".join(lines)


def schema_page() -> str:
    """Return the page of all public views with columns and types, as a new store has them."""
    lines = [
        "# SQL schema", "",
        "The public views, open to `sloscope sql` and `/api/v1/sql`. Types are DuckDB's, times are UTC, missing is",
        "NULL and never 0. Columns may be added within a major version; none is renamed or removed. Views marked",
        "*importable* are also the import format: Parquet or CSV, file stem = view name.", "",
        "This page is written by `python -m docs.generate`.", "",
    ]  # fmt: skip
    with Store.open(None) as store:
        cursor = store.cursor()
        rows = cursor.execute(
            "select table_name, column_name, data_type from duckdb_columns() "
            "where schema_name = 'main' and not internal order by table_name, column_index"
        ).fetchall()
        cursor.close()
    stored: dict[str, list[tuple[str, str]]] = {}
    for view, column, kind in rows:
        stored.setdefault(view, []).append((column, kind))
    for view in VIEWS.values():
        lines += _view(view, stored[view.name])
    lines += ["# Everyday views", "", "Computed from the views above when they are asked.", ""]
    for name in sorted(set(stored) - set(VIEWS)):
        lines += [f"## {name}", "", EVERYDAY.get(name, ""), "", "| column | type |", "|---|---|"]
        lines += [*(f"| `{column}` | {_type(kind)} |" for column, kind in stored[name]), ""]
    lines += ["# Macros", "", "| macro | returns |", "|---|---|"]
    lines += [*(f"| `{call}` | {meaning} |" for call, meaning in MACROS), ""]
    return "\n".join(lines)


PAGES = {"cli.md": commands_page, "sql.md": schema_page}


def main() -> int:
    """Write every page; return 0."""
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), encoding="utf-8")
        print(REFERENCE / name)
    return 0


def _commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield f"{path}{name}", command
            if isinstance(command, click.Group):
                yield from _commands(command, f"{path}{name} ")


def _help(command: click.Command) -> list[str]:
    words = " ".join((command.help or "").split())
    text, _, example = words.partition("Example: ")
    return [text.strip(), *(["", "```sh", example.strip(), "```"] if example else [])]


def _argument(argument: click.Argument) -> str:
    name = (argument.name or "").upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _option(option: click.Option) -> str:
    flags = ", ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts))
    if isinstance(option.type, click.Choice):
        flags += " " + " \\| ".join(str(choice) for choice in option.type.choices)
    default = option.default
    shown = "" if default in (None, False, "", ()) or not isinstance(default, str | int | float) else f"`{default}`"
    twin = f"`{option.envvar}`" if option.envvar else ""
    return f"| {flags} | {twin} | {shown} | {option.help or ''} |"


def _view(view: View, stored: list[tuple[str, str]]) -> list[str]:
    known = {column.name: column for column in view.columns}
    lines = [f"## {view.name}", "", view.help + (" *Importable.*" if view.importable else ""), ""]
    lines += ["| column | type | NULL | import needs | meaning |", "|---|---|---|---|---|"]
    for name, kind in stored:
        column = known.get(name)
        null = "never" if column and column.required else "may be"
        needed = "yes" if column and column.needed and view.importable else ""
        lines.append(f"| `{name}` | {_type(kind)} | {null} | {needed} | {column.help if column else ''} |")
    return [*lines, ""]


def _type(kind: str) -> str:
    return kind.replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")


if __name__ == "__main__":
    sys.exit(main())

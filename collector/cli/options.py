"""Options that commands share; every flag has a SLOSCOPE_* twin and secrets come only from files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import click
from click.core import ParameterSource

Command = TypeVar("Command", bound=Callable[..., object])


def option(*names: str, **settings: object) -> Callable[[Command], Command]:
    """Return a click option whose environment twin is SLOSCOPE_ and the flag's name in capitals."""
    flag = max((name for name in names if name.startswith("-")), key=len).split("/")[0].lstrip("-")
    settings.setdefault("envvar", f"SLOSCOPE_{flag.replace('-', '_').upper()}")
    settings.setdefault("show_envvar", False)
    decorate: Callable[[Command], Command] = click.option(*names, **settings)  # type: ignore[arg-type]  # passed through
    return decorate


class Moment(click.ParamType[datetime]):
    """An RFC 3339 time; without an offset it is taken as UTC."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            found = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is no RFC 3339 time such as 2026-05-01T12:00:00Z", param, ctx)
        return found if found.tzinfo else found.replace(tzinfo=UTC)


class Duration(click.ParamType[float]):
    """A duration such as 90s, 15m, 24h, 7d, in seconds."""

    name = "duration"
    units = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}  # noqa: RUF012  # a constant table

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        text = str(value)
        unit = text[-1:] if text[-1:] in self.units else ""
        try:
            found = float(text[: len(text) - len(unit)]) * self.units.get(unit, 1.0)
        except ValueError:
            self.fail(f"{value!r} is no duration such as 90s, 15m, 24h or 7d", param, ctx)
        if not found > 0:
            self.fail(f"{value!r} must be above 0", param, ctx)
        return found


MOMENT = Moment()
DURATION = Duration()


def given_by_environment(name: str) -> bool:
    """Return whether the parameter `name` of the running command came from its SLOSCOPE_* twin, not from a flag."""
    context = click.get_current_context(silent=True)
    while context is not None:
        source = context.get_parameter_source(name)
        if source is not None:
            return source is ParameterSource.ENVIRONMENT
        context = context.parent
    return False


def place_options(command: Command) -> Command:
    """Add where to ask: --db FILE, --url URL, --token-file, --now."""
    for decorate in (
        option("--now", type=MOMENT, help="answer as of this time; with --db the newest stored time, else the clock"),
        option("--token-file", type=click.Path(path_type=Path, dir_okay=False), help="file that holds a bearer token"),
        option("--url", help="a running collector, e.g. http://127.0.0.1:4320"),
        option("--db", type=click.Path(path_type=Path, dir_okay=False), help="a store file, without any server"),
    ):
        command = decorate(command)
    return command


def output_option(command: Command) -> Command:
    """Add -o table|json|csv."""
    return option(
        "-o", "--output", type=click.Choice(["table", "json", "csv"]), default="table", help="how to print the answer"
    )(command)

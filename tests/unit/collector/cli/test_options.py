"""Flags, their twins in the environment, times and durations."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest

from collector.cli.main import cli
from collector.cli.options import DURATION, MOMENT, place_options
from collector.cli.place import one_place
from signals.errors import ConfigError


def _commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path}{name}", command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path}{name} ")


COMMANDS = dict(_commands(cli))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_has_a_twin_in_the_environment(name: str) -> None:
    if name == "serve":
        pytest.skip("the settings of serve take their twins in collector.config")
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option):
            assert str(parameter.envvar).startswith("SLOSCOPE_"), parameter.opts


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does_and_what_each_flag_means(name: str) -> None:
    assert COMMANDS[name].help
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.help or isinstance(parameter.type, click.Choice) or parameter.show_default, parameter.opts


@pytest.mark.parametrize(
    "name", ["status", "explain", "forecast", "scale", "request", "cost", "plan", "sql", "compare"]
)
def test_commands_that_read_take_a_file_a_server_a_token_and_a_time(name: str) -> None:
    flags = {flag for parameter in COMMANDS[name].params for flag in parameter.opts}
    assert {"--db", "--url", "--token-file", "--now", "-o"} <= flags


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90.0), ("15m", 900.0), ("24h", 86_400.0), ("7d", 604_800.0), ("0.5", 0.5)]
)
def test_durations_carry_their_unit(text: str, seconds: float) -> None:
    assert DURATION.convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "soon", "0s", "-3m", "nan"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        DURATION.convert(text, None, None)


def test_a_time_without_an_offset_is_utc() -> None:
    assert MOMENT.convert("2026-05-01T12:00:00", None, None) == datetime(2026, 5, 1, 12, tzinfo=UTC)
    assert MOMENT.convert("2026-05-01T14:00:00+02:00", None, None) == datetime(2026, 5, 1, 12, tzinfo=UTC)
    with pytest.raises(click.BadParameter, match="RFC 3339"):
        MOMENT.convert("yesterday", None, None)


@click.command()
@place_options
def asks(db: Path | None, url: str | None, token_file: Path | None, now: datetime | None) -> tuple[object, object]:
    """Say which place is asked."""
    return one_place(db, url)


def test_a_flag_beats_the_environments_other_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOSCOPE_DB", "x.duckdb")
    assert asks.main(["--url", "http://c:1"], standalone_mode=False) == (None, "http://c:1")
    monkeypatch.delenv("SLOSCOPE_DB")
    monkeypatch.setenv("SLOSCOPE_URL", "http://c:1")
    assert asks.main(["--db", "y.duckdb"], standalone_mode=False) == (Path("y.duckdb"), None)
    assert asks.main([], standalone_mode=False) == (None, "http://c:1")


def test_two_places_of_one_rank_exclude_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="exclude each other"):
        asks.main(["--db", "y.duckdb", "--url", "http://c:1"], standalone_mode=False)

"""The command that plans one of ten serving systems: assumed beside measured."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import click

from collector.cli.options import option, output_option, place_options
from collector.cli.output import cell, show
from collector.cli.place import UrlPlace, resolve
from signals.errors import ConfigError, InputError


@click.command()
@place_options
@output_option
@option("--set", "settings", multiple=True, metavar="INPUT=VALUE", help="set an input; may be repeated")
@option("--model", help="telemetry of this model only")
@click.argument("name", required=False)
def plan(
    db: Path | None,
    url: str | None,
    token_file: Path | None,
    now: datetime | None,
    output: str,
    settings: tuple[str, ...],
    model: str | None,
    name: str | None,
) -> None:
    """What does a serving system need? Without NAME lists the planners; with --db or --url measures what it can.

    Example: sloscope plan autoscaling --set requests_per_second=40
    """
    from collector.answers.plan import catalogue

    if name is None:
        items = [{key: row[key] for key in ("planner", "title", "question")} for row in catalogue()]
        show({"items": items}, output)
        return
    given = _settings(settings)
    if db is None and url is None:
        try:
            answer = _assumed(name, given)
        except InputError as error:
            faults = error.data.get("faults")
            if not isinstance(faults, list):
                raise
            raise ConfigError("planner inputs out of range", faults) from error
    else:
        place = resolve(db, url, token_file, now)
        if isinstance(place, UrlPlace):
            answer = place.plan(name, given, model)
        else:
            answer = place.answer("plan", {"name": name, "settings": given, "model": model})
    verdicts = answer.get("verdicts")
    rows = [row for row in verdicts if isinstance(row, Mapping)] if isinstance(verdicts, list) else []
    words = {True: "holds", False: "not so"}
    head = [str(answer.get("headline"))]
    head += [f"  {words[bool(row.get('holds'))]}: {row.get('verdict')} ({cell(row.get('because'))})" for row in rows]
    show(answer, output, ("name", "value", "unit", "because"), head)


def _settings(pairs: tuple[str, ...]) -> dict[str, str]:
    given = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign:
            raise ConfigError(f"--set: expected INPUT=VALUE, got {pair!r}")
        given[key.strip()] = value.strip()
    return given


def _assumed(name: str, given: Mapping[str, str]) -> dict[str, object]:
    from collector.answers.plan import plan as answer
    from collector.sqlguard.formats import plain

    return {key: plain(value) for key, value in answer(None, None, name, given).items()}

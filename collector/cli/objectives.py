"""Commands about objectives and money: slo validate, cost."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from collector.cli.options import MOMENT, given_by_environment, option, output_option, place_options
from collector.cli.output import show
from collector.cli.place import FilePlace, resolve
from signals.errors import ConfigError


@click.group()
def slo() -> None:
    """Objective files (OpenSLO v1)."""


@slo.command()
@click.argument("place", type=click.Path(path_type=Path, exists=True))
def validate(place: Path) -> None:
    """Check a file or folder; every fault as file:line:key. Example: sloscope slo validate objectives/"""
    from collector.answers.objective_files import read_objectives

    found = read_objectives(place)
    for fault in found.faults:
        click.echo(str(fault))
    if found.faults:
        raise click.exceptions.Exit(1)
    click.echo(f"{len(found.objectives)} objectives, no fault")


@slo.command("list")
@output_option
@click.argument("place", type=click.Path(path_type=Path, exists=True))
def list_(place: Path, output: str) -> None:
    """Show the objectives of a file or folder."""
    from collector.answers.objective_files import load_objectives
    from collector.sqlguard.formats import plain

    items = [
        {"objective": one.name, "revision": one.revision, "target": plain(one.target)} for one in load_objectives(place)
    ]
    show({"items": items}, output)


@click.command()
@place_options
@output_option
@option("--from", "start", type=MOMENT, help="begin; a day ago when absent")
@option("--to", "end", type=MOMENT, help="end")
@option(
    "--pools", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="pools.yaml with prices (with --db)"
)
def cost(
    db: Path | None,
    url: str | None,
    token_file: Path | None,
    now: datetime | None,
    output: str,
    start: datetime | None,
    end: datetime | None,
    pools: Path | None,
) -> None:
    """What did tokens cost, by model, tenant and length? Example: sloscope cost --db x.duckdb --pools pools.yaml"""
    place = resolve(db, url, token_file, now)
    given: dict[str, object] = {"start": start, "end": end}
    if isinstance(place, FilePlace):
        if pools is not None:
            from collector.answers.cost import prices_of
            from collector.answers.pools import load_pools

            declared = load_pools(pools)
            given |= {"pools": declared, "prices": prices_of(declared)}
    else:
        if pools is not None and not given_by_environment("pools"):
            raise ConfigError("--pools goes with --db; a server has its own (`serve --pools FILE`)")
        given = {"from": start, "to": end}
    show(place.answer("cost", given), output)

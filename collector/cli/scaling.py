"""Commands about instances: scale (with pin and freeze) and replay."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import click

from collector.cli.options import DURATION, given_by_environment, option, output_option, place_options
from collector.cli.output import main_rows, show
from collector.cli.place import FilePlace, UrlPlace, resolve
from collector.cli.reading import SCALE_COLUMNS, VIOLATED_OR_PENDING
from collector.cli.scale_table import brief, reasons
from signals.errors import ConfigError


@click.group(invoke_without_command=True)
@place_options
@output_option
@option("--pool", help="one pool only")
@option("--pools", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="pools.yaml (with --db)")
@click.pass_context
def scale(
    ctx: click.Context,
    db: Path | None,
    url: str | None,
    token_file: Path | None,
    now: datetime | None,
    output: str,
    pool: str | None,
    pools: Path | None,
) -> None:
    """How many instances are needed next? Example: sloscope scale --db x.duckdb"""
    ctx.obj = (db, url, token_file)
    if ctx.invoked_subcommand is not None:
        return
    place = resolve(db, url, token_file, now)
    given: dict[str, object] = {"pool": pool}
    if pools is not None and not (isinstance(place, UrlPlace) and given_by_environment("pools")):
        if not isinstance(place, FilePlace):
            raise ConfigError("--pools goes with --db; a server has its own (`serve --pools FILE`)")
        from collector.answers.pools import load_pools

        given["pools"] = load_pools(pools)
    answer = place.answer("scale", given)
    shown = brief(answer) if output == "table" else answer
    show(shown, output, SCALE_COLUMNS, reasons(answer))
    if any(row.get("action") in {"up", "down"} for row in main_rows(answer)):
        raise click.exceptions.Exit(VIOLATED_OR_PENDING)


@scale.command()
@option("--for", "seconds", type=DURATION, default="2h", show_default=True, help="how long")
@click.argument("pool")
@click.argument("replicas", type=click.IntRange(min=0))
@click.pass_context
def pin(ctx: click.Context, seconds: float, pool: str, replicas: int) -> None:
    """Hold a pool at N instances for a while; audited and shown everywhere."""
    body = {"pool": pool, "replicas": replicas, "for": f"{seconds:g}s"}
    click.echo(json.dumps(_server(ctx).call("POST", "/api/v1/scaling/pin", json=body)))


@scale.command()
@option("--off", is_flag=True, help="let recommendations act again")
@click.pass_context
def freeze(ctx: click.Context, off: bool) -> None:
    """Stop all recommendations from acting until `--off`; audited and shown everywhere."""
    click.echo(json.dumps(_server(ctx).call("POST", "/api/v1/scaling/freeze", json={"frozen": not off})))


def _server(ctx: click.Context) -> UrlPlace:
    db, url, token_file = ctx.obj
    place = resolve(db, url, token_file, None)
    if not isinstance(place, UrlPlace):
        raise ConfigError("pins and freezes are kept by a running collector: use --url")
    return place


@click.command()
@place_options
@output_option
@option("--days", type=click.FloatRange(min=0.01), default=7.0, show_default=True, help="how many days of the store")
@option("--model", help="model to replay; the only one when there is one")
@option(
    "--fleet", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="fleet.yaml: instances and speeds"
)
@option("--objectives", type=click.Path(path_type=Path, exists=True), help="folder of OpenSLO files")
@option("--policies", default="", help="comma-separated policies, or `all`; the usual ones when empty")
@option("--cold-start", type=DURATION, help="seconds from decision to ready; measured when absent")
@click.argument("trace", required=False, type=click.Path(path_type=Path, dir_okay=False))
def replay(
    db: Path | None,
    url: str | None,
    token_file: Path | None,
    now: datetime | None,
    output: str,
    days: float,
    model: str | None,
    fleet: Path | None,
    objectives: Path | None,
    policies: str,
    cold_start: float | None,
    trace: Path | None,
) -> None:
    """How would other scaling policies have done? Example: sloscope replay trace.parquet --policies knative,sloscope

    With --db or --url it replays the store's own arrivals. `sloscope replay calibrate --db FILE` fits the engine to
    its samples and sets predicted beside measured latency.
    """
    from collector.cli.recorded import Where
    from collector.cli.replaying import reach, run_calibrate, run_replay

    where = None if db is None and url is None else Where(db, url, token_file, now)
    if trace is not None and str(trace) == "calibrate" and not trace.exists():
        show(run_calibrate(where, days, model), output)
        return
    if trace is not None and not trace.is_file():
        raise ConfigError(f"{trace} is no file; give a trace, or `calibrate`")
    if trace is not None and (given_by_environment("db") or given_by_environment("url")):
        where = None  # an argument beats the environment
    answer = run_replay(where, days, model, fleet, objectives, policies, cold_start, trace)
    show(answer, output, head=[str(answer["picture"]), *reach(answer), ""])

"""Commands that ask: status, explain, forecast, scale, request, compare, cost, plan, sql."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import click

from collector.cli.options import DURATION, MOMENT, given_by_environment, option, output_option, place_options
from collector.cli.output import cell, show
from collector.cli.place import FilePlace, Place, resolve
from signals.errors import ConfigError

VIOLATED_OR_PENDING = 3
STATUS_COLUMNS = ("objective", "model", "tenant", "length_bucket", "target", "ratio", "good", "bad", "excluded",
                  "budget_remaining", "state", "p50", "p99", "coverage")  # fmt: skip
SCALE_COLUMNS = ("pool", "current", "proposed", "action", "binding", "demand", "capacity_per_instance", "confidence")
HEADLINE = (("verdict", "verdict"), ("stage", "stage"), ("kind", "change_kind"), ("onset", "onset"))
CAUSE_COLUMNS = ("cause", "confidence", "segment", "next_step")


@click.command()
@place_options
@output_option
@option("--objectives", type=click.Path(path_type=Path, exists=True), help="folder of OpenSLO files")
def status(
    db: Path | None,
    url: str | None,
    token_file: Path | None,
    now: datetime | None,
    output: str,
    objectives: Path | None,
) -> None:
    """Are the objectives met? Example: sloscope status --db x.duckdb"""
    place = resolve(db, url, token_file, now)
    given = _objectives(place, objectives)
    answer = place.answer("status", {"objectives": given})
    show(answer, output, STATUS_COLUMNS)
    rows = answer.get("objectives")
    states = {row.get("state") for row in rows if isinstance(row, Mapping)} if isinstance(rows, list) else set()
    if states & {"burning", "exhausted"}:
        raise click.exceptions.Exit(VIOLATED_OR_PENDING)


def _objectives(place: Place, folder: Path | None) -> object | None:
    if folder is None or (not isinstance(place, FilePlace) and given_by_environment("objectives")):
        return None
    if not isinstance(place, FilePlace):
        raise ConfigError("--objectives goes with --db; a server has its own (`serve --objectives DIR`)")
    from collector.answers.objective_files import load_objectives

    return load_objectives(folder)


@click.command()
@place_options
@output_option
@option("--model", help="model to explain; the only one when there is one")
@option("--metric", default="ttft", show_default=True, help="ttft, tpot, e2e, goodput, cache_hit, acceptance, ...")
@option("--from", "start", type=MOMENT, help="begin of the window")
@option("--to", "end", type=MOMENT, help="end of the window")
@option("--at", type=MOMENT, help="a moment inside the spike")
@option("--counts", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="localise in a table of counts")
def explain(
    db: Path | None,
    url: str | None,
    token_file: Path | None,
    now: datetime | None,
    output: str,
    model: str | None,
    metric: str,
    start: datetime | None,
    end: datetime | None,
    at: datetime | None,
    counts: Path | None,
) -> None:
    """Why is it slow? Example: sloscope explain --db x.duckdb --model m --at 2026-05-01T12:00:00Z"""
    if counts is not None:
        from collector.cli.counts import explain_counts_file

        show(explain_counts_file(counts), output, ("segment", "score", "excess", "recall", "precision", "kind"))
        return
    place = resolve(db, url, token_file, now)
    names = {"start": "start", "end": "end"} if isinstance(place, FilePlace) else {"start": "from", "end": "to"}
    given = {"model": model or only_model(place), "metric": metric, names["start"]: start, names["end"]: end, "at": at}
    answer = place.answer("explain", given)
    head = ["   ".join(f"{name}: {cell(answer.get(key))}" for name, key in HEADLINE)]
    if answer.get("because"):
        head.append(f"because: {answer['because']}")
    causes = answer.get("causes")
    for cause in causes if isinstance(causes, list) else []:
        head.extend(_evidence_lines(cause))
    missing = answer.get("missing")
    if isinstance(missing, list) and missing:
        head.append(f"missing: {cell(missing)}")
    show(answer, output, CAUSE_COLUMNS, head)


def _evidence_lines(cause: Mapping[str, object]) -> list[str]:
    lines = [f"  {cause.get('cause')} ({cell(cause.get('confidence'))})"]
    evidence = cause.get("evidence")
    for item in evidence if isinstance(evidence, list) else []:
        if isinstance(item, Mapping):
            before, during = cell(item.get("before")), cell(item.get("during"))
            lines.append(f"    {item.get('signal')}: {before} -> {during}  {cell(item.get('why'))}")
    return lines


@click.command()
@place_options
@output_option
@option("--model", help="model to forecast; the only one when there is one")
@option("--tenant", help="one tenant only")
@option(
    "--signal", type=click.Choice(["requests", "input_tokens", "cached_tokens", "output_tokens"]), default="requests"
)
@option("--horizon", type=DURATION, default="24h", show_default=True, help="how far ahead")
@option("--step", type=DURATION, default="10m", show_default=True, help="width of a step")
@option("--timezone", default="UTC", show_default=True, help="of the daily curve, e.g. Europe/Berlin")
@option("--parts", type=click.IntRange(0, 200), default=0, help="also the N busiest tenant and length parts")
@option("--cold-start", type=DURATION, default="10m", show_default=True, help="start of an instance, for the reserve")
@option("--calendar", type=click.Path(path_type=Path), help="calendar.yaml of declared days; with --db only")
@option("--backtest", is_flag=True, help="how good would it have been on your own history?")
def forecast(
    db: Path | None,
    url: str | None,
    token_file: Path | None,
    now: datetime | None,
    output: str,
    model: str | None,
    tenant: str | None,
    signal: str,
    horizon: float,
    step: float,
    timezone: str,
    parts: int,
    cold_start: float,
    calendar: Path | None,
    backtest: bool,
) -> None:
    """How much comes next? Example: sloscope forecast --db x.duckdb --model m --signal requests --horizon 24h"""
    from collector.answers.forecast_calendar import load_calendar

    place = resolve(db, url, token_file, now)
    given: dict[str, object] = {
        "model": model or only_model(place),
        "tenant": tenant,
        "signal": signal,
        "timezone": timezone,
    }
    if parts and not backtest:
        given["parts"] = parts
    if isinstance(place, FilePlace):
        given |= {"step_seconds": int(step)}
        given |= {} if backtest else {"horizon_seconds": horizon, "cold_start_seconds": cold_start}
        if calendar is not None:
            given["events"] = load_calendar(calendar)
    else:
        if calendar is not None and not given_by_environment("calendar"):
            raise ConfigError("--calendar goes with --db; a server has its own (`serve --calendar FILE`)")
        given |= {"step": f"{step:g}s"}
        given |= {} if backtest else {"horizon": f"{horizon:g}s", "cold_start": f"{cold_start:g}s"}
    answer = place.answer("backtest" if backtest else "forecast", given)
    picture = answer.get("picture")
    head = [str(picture)] if backtest and isinstance(picture, str) and "<svg" not in picture else []
    if not backtest:
        head.append(f"basis: {cell(answer.get('basis'))}   confidence: {cell(answer.get('confidence'))}")
    show(answer, output, ("ts", "q10", "q50", "q90", "q99") if not backtest else (), head)


@click.command("request")
@place_options
@output_option
@click.argument("request_id")
def request(
    db: Path | None, url: str | None, token_file: Path | None, now: datetime | None, output: str, request_id: str
) -> None:
    """What happened to one request? Takes a request id or a trace id."""
    answer = resolve(db, url, token_file, now).answer("request", {"request_id": request_id})
    row, timeline = answer.get("request"), answer.get("timeline")
    head = []
    if isinstance(row, Mapping):
        head.append(
            "   ".join(f"{name}: {cell(row.get(name))}" for name in ("request_id", "model", "tenant", "status"))
        )
        head.append(
            "   ".join(f"{name}: {cell(row.get(name))}" for name in ("ttft_seconds", "e2e_seconds", "instance"))
        )
    head.append(f"instance then: {cell(answer.get('instance'))}")
    head.append(f"peers in the minute: {cell(answer.get('peers'))}")
    shown = answer if output == "json" else {"rows": timeline if isinstance(timeline, list) else []}
    show(shown, output, ("stage", "start_seconds", "seconds"), head)


@click.command()
@place_options
@output_option
@option("--by", default="model_version", show_default=True, help="dimension that tells A from B")
@option("--metric", default="ttft", show_default=True)
@click.argument("a")
@click.argument("b")
def compare(
    db: Path | None,
    url: str | None,
    token_file: Path | None,
    now: datetime | None,
    output: str,
    by: str,
    metric: str,
    a: str,
    b: str,
) -> None:
    """Is B as good as A? A canary gate: exit 0 pass, 3 fail, 1 inconclusive."""
    answer = resolve(db, url, token_file, now).answer("compare", {"by": by, "a": a, "b": b, "metric": metric})
    show(answer, output)
    code = {"pass": 0, "fail": VIOLATED_OR_PENDING}.get(str(answer.get("verdict")), 1)
    if code:
        raise click.exceptions.Exit(code)


@click.command()
@place_options
@output_option
@option("--max-rows", type=click.IntRange(min=1), help="stop after so many rows")
@click.argument("query")
def sql(
    db: Path | None,
    url: str | None,
    token_file: Path | None,
    now: datetime | None,
    output: str,
    max_rows: int | None,
    query: str,
) -> None:
    """Run one SELECT over the public views. Example: sloscope sql --db x.duckdb 'select count(*) from requests'"""
    answer = resolve(db, url, token_file, now).sql(query, max_rows)
    columns = answer.get("columns")
    show(answer, output, [str(name) for name in columns] if isinstance(columns, list) else ())
    if answer.get("truncated"):
        click.echo("more rows exist: raise --max-rows or add a limit", err=True)


def only_model(place: Place) -> str:
    """Return the only model that the store knows; ConfigError lists them when there are several."""
    found = place.answer("inventory", {})["models"]
    names = [str(name) for name in found] if isinstance(found, list) else []
    if len(names) != 1:
        raise ConfigError(f"--model is needed: the store knows {', '.join(names) or 'no model yet'}")
    return names[0]

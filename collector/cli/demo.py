"""The command that shows everything at once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import click

from collector.cli.options import option
from collector.cli.output import show
from collector.cli.reading import CAUSE_COLUMNS, SCALE_COLUMNS, STATUS_COLUMNS
from collector.cli.scale_table import brief, reasons


@click.command()
@option("--once", is_flag=True, help="replay, print the four answers, exit (no browser)")
@option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="how to print the answers")
@option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="SLOSCOPE_DEMO_DIR",
    help="where store, logs and recordings go; kept afterwards",
)
@option(
    "--seconds",
    envvar="SLOSCOPE_DEMO_SECONDS",
    type=click.FloatRange(min=5.0),
    default=170.0,
    show_default=True,
    help="length of --once",
)
@option(
    "--offset",
    envvar="SLOSCOPE_DEMO_OFFSET",
    type=click.FloatRange(min=0.0),
    default=10.0,
    show_default=True,
    hidden=True,
)
@option("--port", envvar="SLOSCOPE_DEMO_PORT", type=int, default=8501, show_default=True, help="port of the dashboard")
@option("--open/--no-open", "open_", default=True, help="open a browser")
def demo(once: bool, output: str, folder: Path | None, seconds: float, offset: float, port: int, open_: bool) -> None:
    """Replay recorded engines through agent, collector and dashboard. Example: sloscope demo"""
    from collector.demo.run import Settings, run_once, run_watched

    logging.getLogger("httpx").setLevel(logging.WARNING)
    settings = Settings(seconds=seconds, offset=offset, port=port, folder=folder, open_browser=open_)

    def say(line: str) -> None:
        click.echo(line, err=True)

    if not once:
        try:
            run_watched(settings, say)
        except KeyboardInterrupt:
            say("demo ended")
        return
    found = run_once(settings, say)
    if output == "json":
        show(found, "json")
        return
    columns = {"status": STATUS_COLUMNS, "explain": CAUSE_COLUMNS, "forecast": ("ts", "q10", "q50", "q90", "q99"),
               "scale": SCALE_COLUMNS}  # fmt: skip
    for name, answer in found.items():
        click.echo(f"== {name}")
        if isinstance(answer, dict):
            shown, head = _for_people(name, answer)
            show(shown, "table", columns[name], head)


def _for_people(name: str, answer: Mapping[str, object]) -> tuple[Mapping[str, object], list[str]]:
    """Return an answer as its table shows it, and the lines above the table."""
    if name == "explain":
        return answer, [f"verdict: {answer.get('verdict')}, stage: {answer.get('stage')}"]
    if name == "scale":
        return brief(answer), reasons(answer)
    points = answer.get("points")
    return ({**answer, "points": points[:6]} if isinstance(points, list) else answer), []

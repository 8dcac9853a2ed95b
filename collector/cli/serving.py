"""Commands that stay: serve and dashboard."""

from __future__ import annotations

import dataclasses
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import click

from collector.cli.options import option
from collector.config import CollectorConfig, load
from signals.errors import ConfigError


def _config_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add one flag per setting of CollectorConfig."""
    for item in reversed(dataclasses.fields(CollectorConfig)):
        flag = f"--{item.name.replace('_', '-')}"
        shown = f"{item.metadata['help']} [default: {item.default!r}]"
        command = click.option(flag, item.name, default=None, help=shown)(command)
    return command


@click.command()
@_config_options
@option("--config", type=click.Path(path_type=Path, dir_okay=False), help="collector.yaml")
@option("--print-config", is_flag=True, help="print the effective settings and where each came from, then exit")
def serve(config: Path | None, print_config: bool, **flags: object) -> None:
    """Run the collector. Example: sloscope serve --db sloscope.duckdb --port 4320"""
    loaded = load(flags, os.environ, config)
    if print_config:
        for line in loaded.lines():
            click.echo(line)
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads of the numerical libraries would starve ingestion
    from collector.serve import serve as run

    line = "%(asctime)s %(levelname)s %(name)s %(message)s"
    logging.basicConfig(level=logging.INFO, format=line, stream=sys.stderr, force=True)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    raise click.exceptions.Exit(run(loaded.config))


@click.command()
@option("--url", default="http://127.0.0.1:4320", show_default=True, help="the collector to show")
@option("--token-file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="bearer token")
@option("--listen", default="127.0.0.1:8501", show_default=True, help="address and port of the dashboard")
@option("--open/--no-open", "open_", default=False, help="open a browser")
def dashboard(url: str, token_file: Path | None, listen: str, open_: bool) -> None:
    """Show a collector in the browser. Example: sloscope dashboard --url http://127.0.0.1:4320"""
    command, environment = dashboard_command(url, token_file, listen, open_=open_)
    raise click.exceptions.Exit(subprocess.run(command, env=environment, check=False).returncode)  # noqa: S603  # our own


def dashboard_command(
    url: str, token_file: Path | None, listen: str, *, open_: bool
) -> tuple[list[str], dict[str, str]]:
    """Return the command line and the environment of a dashboard process."""
    host, _, port = listen.rpartition(":")
    if not port.isdigit():
        raise ConfigError(f"--listen: expected HOST:PORT, got {listen!r}")
    script = str(files("dashboard").joinpath("app.py"))
    command = [
        sys.executable, "-m", "streamlit", "run", script,
        "--server.address", host or "127.0.0.1", "--server.port", port, "--server.headless", str(not open_).lower(),
        "--browser.gatherUsageStats", "false", "--server.fileWatcherType", "none", "--client.toolbarMode", "minimal",
    ]  # fmt: skip
    environment = {**os.environ, "SLOSCOPE_URL": url}
    if token_file is not None:
        environment["SLOSCOPE_TOKEN_FILE"] = str(token_file)
    return command, environment

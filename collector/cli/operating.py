"""Commands for operators: make a token, examine an installation."""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
from pathlib import Path

import click
import httpx

from collector.cli.options import option, output_option
from collector.cli.output import show
from collector.cli.place import serving_url
from collector.security.tokens import SCOPES, entry, new_token
from collector.store.open import open_readonly
from signals.errors import SloscopeError, UnreachableError

#: Packages that the server needs, and what for.
NEEDED = {"duckdb": "the store", "fastapi": "HTTP", "uvicorn": "HTTP", "sklearn": "forecasts", "pyarrow": "the store"}
OURS = ("signals", "agent", "analytics", "collector", "dashboard")


@click.command()
@option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), required=True, help="may be repeated")
@click.argument("name")
def token(name: str, scopes: tuple[str, ...]) -> None:
    """Make a bearer token: the entry for the token file on stdout, the token itself on stderr, once.

    The token file begins with a line `tokens:`. Example: sloscope token rack-7 --scope ingest >> tokens.yaml
    """
    secret = new_token()
    click.echo(entry(name, secret, scopes), nl=False)
    click.echo(f"token of {name} (shown once, keep it in a file): {secret}", err=True)


@click.command()
@option("--db", type=click.Path(path_type=Path, dir_okay=False), help="store to examine")
@option("--url", help="collector to examine")
@output_option
def doctor(db: Path | None, url: str | None, output: str) -> None:
    """Examine an installation, a store and a collector; say what to mend.

    Exit 1 when something is wrong, 4 when the collector does not answer.
    """
    findings = _packages()
    unreachable = False
    try:
        findings += _store(db) if db else ()
        findings += _server(url) if url else ()
    except UnreachableError as error:
        findings.append((False, error.message))
        unreachable = True
    if output == "table":
        for good, line in findings:
            click.echo(f"{'ok  ' if good else 'BAD '} {line}")
    else:
        show({"items": [{"ok": good, "finding": line} for good, line in findings]}, output)
    if not all(good for good, _ in findings):
        raise click.exceptions.Exit(UnreachableError.exit_code if unreachable else 1)


def _packages() -> list[tuple[bool, str]]:
    found = [(sys.version_info >= (3, 11), f"Python {sys.version.split()[0]}, needed: 3.11 or newer")]
    owners = importlib.metadata.packages_distributions()
    for name, purpose in NEEDED.items():
        there = name in owners
        found.append((there, f"{name} for {purpose}" + ("" if there else ": pip install 'sloscope[server]'")))
    for name in OURS:
        others = sorted(set(owners.get(name, [])) - {"sloscope"})
        if others:
            found.append(
                (False, f"package {name} is also installed by {', '.join(others)}: use an environment of its own")
            )
    return found


def _store(db: Path) -> list[tuple[bool, str]]:
    served = serving_url(db)
    if served is not None:
        return [(True, f"{db} is served at {served}"), *_server(served)]
    if not db.exists():
        return [(False, f"{db} does not exist")]
    free = shutil.disk_usage(db.parent or Path()).free
    found = [(free > 1_000_000_000, f"{free / 1e9:.1f} GB free beside the store")]
    try:
        with open_readonly(db) as connection:
            newest, quality = connection.execute(
                "select (select max(ts) from engine_samples), (select count(*) from data_quality)"
            ).fetchall()[0]
        found.append((newest is not None, f"newest sample: {newest or 'none'}"))
        found.append((True, f"{quality} kinds of data faults recorded (view data_quality)"))
    except SloscopeError as error:
        found.append((False, error.message))
    return found


def _server(url: str) -> list[tuple[bool, str]]:
    """Return what a collector says of itself; UnreachableError when it does not answer."""
    try:
        answer = httpx.get(f"{url.rstrip('/')}/readyz", timeout=5.0)
    except httpx.HTTPError as error:
        raise UnreachableError(f"{url} does not answer: {error}") from error
    try:
        checks = answer.json()["checks"]
        return [
            (check["status"] != "fail", f"{check['name']}: {check['detail']}" + _warned(check["status"]))
            for check in checks
        ]
    except (ValueError, KeyError, TypeError):
        return [(False, f"{url} is no sloscope collector: it answered {answer.status_code} without checks")]


def _warned(status: object) -> str:
    return " (warning)" if status == "warn" else ""

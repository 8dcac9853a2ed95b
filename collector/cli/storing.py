"""Commands that write a store: import, migrate, backup."""

from __future__ import annotations

import io
import tarfile
from datetime import datetime
from pathlib import Path

import click

from collector.cli.options import MOMENT, option
from collector.cli.place import UrlPlace, serving_url
from collector.importer.run import Options, Outcome, import_sources
from collector.importer.sources import Source, recognise
from collector.store.store import Store
from signals.errors import ConfigError


@click.command("import")
@option("--db", type=click.Path(path_type=Path, dir_okay=False), help="store file; made when it does not exist")
@option("--url", help="a running collector")
@option("--token-file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="bearer token for --url")
@option("--instance", help="instance that the data belongs to; else the folder's name")
@option("--model", help="model of engines that do not name theirs")
@option("--start", type=MOMENT, help="time of offset 0 in traces with ts_ms or t_s")
@click.argument("paths", nargs=-1, required=True)
def import_(
    db: Path | None,
    url: str | None,
    token_file: Path | None,
    instance: str | None,
    model: str | None,
    start: datetime | None,
    paths: tuple[str, ...],
) -> None:
    """Import recordings, spans, tables, request logs or prometheus://. Twice stores once.

    Example: sloscope import --db x.duckdb recordings/vllm recordings/vllm-otlp
    """
    if (db is None) == (url is None):
        raise ConfigError("say where to store: --db FILE or --url URL")
    found = recognise(paths)
    for line in found.skipped:
        click.echo(line, err=True)
    if db is not None and url is None:
        url = serving_url(db)
    if url is not None:
        token = token_file.read_text(encoding="utf-8").strip() if token_file else None
        _upload(UrlPlace(url, token, None), paths, instance, model, start)
        return
    if db is None:
        raise ConfigError("say where to store: --db FILE or --url URL")
    with Store.open(db) as store:
        outcome = import_sources(store, list(found.sources), Options(instance, model, start), _progress)
    _report(outcome, list(found.sources))


def _progress(line: str) -> None:
    click.echo(line, err=True)


def _report(outcome: Outcome, sources: list[Source]) -> None:
    for line in (*outcome.skipped, *outcome.faults):
        click.echo(line, err=True)
    stored, known = sum(outcome.stored.values()), sum(outcome.known.values())
    click.echo(f"{stored} batches stored, {known} already known, {outcome.requests} requests joined")
    if not sources or not outcome.recognised:
        raise click.exceptions.Exit(1)


def _upload(
    place: UrlPlace, paths: tuple[str, ...], instance: str | None, model: str | None, start: datetime | None
) -> None:
    """Send the paths as one tar archive; the server imports them with the same code."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for text in paths:
            path = Path(text).resolve()
            archive.add(path, arcname=path.name)
    given = {"instance": instance, "model": model, "start": start.isoformat() if start else None}
    params = {name: value for name, value in given.items() if value is not None}
    answer = place.call("POST", "/api/v1/import", params=params, content=packed.getvalue())
    for name in ("skipped", "faults"):
        lines = answer.get(name)
        for line in lines if isinstance(lines, list) else []:
            click.echo(str(line), err=True)
    click.echo(
        f"{answer.get('stored')} batches stored, {answer.get('known')} already known, "
        f"{answer.get('requests')} requests joined"
    )
    if not answer.get("recognised"):
        raise click.exceptions.Exit(1)


@click.command()
@option("--db", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=True, help="store file")
def migrate(db: Path) -> None:
    """Bring a store file to this version's schema (forward only; take a backup first)."""
    with Store.open(db, upgrade=True):
        click.echo(f"{db} has the newest schema")


@click.command()
@option("--db", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=True, help="store file")
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
def backup(db: Path, target: Path) -> None:
    """Copy a store into a new file, also while its server runs. Restore = use the copy."""
    if target.exists():
        raise ConfigError(f"{target} exists already")
    url = serving_url(db)
    if url is not None:
        UrlPlace(url, None, None).call("POST", "/api/v1/backup", json={"target": str(target.resolve())})
    else:
        with Store.open(db) as store:
            store.backup(target)
    click.echo(str(target))

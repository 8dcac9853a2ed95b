"""Commands that write a store: import, migrate, backup."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path

import click

from collector.cli.options import MOMENT, option, output_option
from collector.cli.output import show
from collector.cli.place import UrlPlace, one_place, serving_url, token_of
from collector.importer.archive import pack
from collector.importer.run import Options, import_sources
from collector.importer.sources import recognise
from collector.store.store import Store
from signals.errors import ConfigError, UnreachableError


@click.command("import")
@option("--db", type=click.Path(path_type=Path, dir_okay=False), help="store file; made when it does not exist")
@option("--url", help="a running collector")
@option("--token-file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="bearer token for --url")
@option("--instance", help="instance that the data belongs to; else the folder's name")
@option("--model", help="model of engines that do not name theirs")
@option("--start", type=MOMENT, help="time of offset 0 in traces with ts_ms or t_s")
@output_option
@click.argument("paths", nargs=-1, required=True)
def import_(
    db: Path | None,
    url: str | None,
    token_file: Path | None,
    instance: str | None,
    model: str | None,
    start: datetime | None,
    output: str,
    paths: tuple[str, ...],
) -> None:
    """Import recordings, spans, tables, request logs or prometheus://. Twice stores once.

    Example: sloscope import --db x.duckdb recordings/vllm recordings/vllm-otlp
    """
    db, url = one_place(db, url)
    if db is None and url is None:
        raise ConfigError("say where to store: --db FILE or --url URL")
    url = url or (serving_url(db) if db is not None else None)
    if url is not None:
        answer = _upload(UrlPlace(url, token_of(token_file), None), paths, instance, model, start)
    else:
        assert db is not None
        answer = _store(db, paths, Options(instance, model, start))
    for name in ("skipped", "faults"):
        lines = answer[name]
        for line in lines if isinstance(lines, list) else []:
            click.echo(line, err=True)
    head = f"{answer['stored']} batches stored, {answer['known']} already known, {answer['requests']} requests joined"
    if output == "table":
        click.echo(head)
    else:
        show(answer, output)
    if answer["unreachable"]:
        raise click.exceptions.Exit(UnreachableError.exit_code)
    if not answer["recognised"]:
        raise click.exceptions.Exit(1)


def _store(db: Path, paths: tuple[str, ...], options: Options) -> dict[str, object]:
    found = recognise(paths)
    with Store.open(db) as store:
        outcome = import_sources(store, list(found.sources), options, lambda line: click.echo(line, err=True))
    outcome.skipped[:0] = found.skipped
    return outcome.document()


def _upload(
    place: UrlPlace, paths: tuple[str, ...], instance: str | None, model: str | None, start: datetime | None
) -> dict[str, object]:
    """Send the paths as one tar archive; the server imports them with the same code."""
    given = {"instance": instance, "model": model, "start": start.isoformat() if start else None}
    params = {name: value for name, value in given.items() if value is not None}
    with tempfile.TemporaryFile() as packed:
        pack(paths, packed)
        packed.seek(0)
        return place.call("POST", "/api/v1/import", params=params, content=packed)


@click.command()
@option("--db", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=True, help="store file")
def migrate(db: Path) -> None:
    """Bring a store file to this version's schema (forward only; take a backup first)."""
    with Store.open(db, upgrade=True):
        click.echo(f"{db} has the newest schema")


@click.command()
@option("--db", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=True, help="store file")
@option("--token-file", type=click.Path(path_type=Path, dir_okay=False), help="bearer token for the file's server")
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
def backup(db: Path, token_file: Path | None, target: Path) -> None:
    """Copy a store into a new file, also while its server runs. Restore = use the copy."""
    if target.exists():
        raise ConfigError(f"{target} exists already")
    url = serving_url(db)
    if url is not None:
        UrlPlace(url, token_of(token_file), None).call("POST", "/api/v1/backup", json={"target": str(target.resolve())})
    else:
        with Store.open(db) as store:
            store.backup(target)
    click.echo(str(target))

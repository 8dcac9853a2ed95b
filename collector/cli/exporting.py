"""Commands that write files for other programs: Prometheus rules, Grafana dashboards, KEDA manifests."""

from __future__ import annotations

import json
from pathlib import Path

import click

from collector.cli.options import option
from signals.errors import ConfigError

_OBJECTIVES = option(
    "--objectives", type=click.Path(path_type=Path, exists=True), help="folder of OpenSLO files; else the built-in one"
)


@click.group()
def export() -> None:
    """Files for Prometheus, Grafana and KEDA."""


@export.command()
@_OBJECTIVES
def rules(objectives: Path | None) -> None:
    """Print recording and burn-rate alerting rules. Example: sloscope export rules > rules.yaml"""
    from collector.answers.export_rules import export_rules

    click.echo(export_rules(_objectives(objectives)), nl=False)


@export.command()
@_OBJECTIVES
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def grafana(objectives: Path | None, folder: Path) -> None:
    """Write Grafana dashboards into FOLDER. Example: sloscope export grafana dashboards/"""
    from collector.answers.export_grafana import export_grafana

    folder.mkdir(parents=True, exist_ok=True)
    for name, dashboard in export_grafana(_objectives(objectives)).items():
        path = folder / f"{name.removesuffix('.json')}.json"
        path.write_text(json.dumps(dashboard, indent=2) + "\n", encoding="utf-8")
        click.echo(str(path))


@export.command()
@option(
    "--url", default="http://sloscope.monitoring.svc:4320", show_default=True, help="the collector inside the cluster"
)
@option("--pools", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="pools.yaml")
@option("--check", "checked", type=click.Path(path_type=Path, exists=True), help="lint KEDA and HPA manifests instead")
def keda(url: str, pools: Path | None, checked: Path | None) -> None:
    """Print a ScaledObject for each pool, or check manifests. Example: sloscope export keda --check deploy/keda"""
    if checked is not None:
        from analytics.scaling.keda_lint import lint

        faults = [
            f"{path}: {fault}"
            for path in ([checked] if checked.is_file() else sorted(checked.rglob("*.yaml")))
            for fault in lint(path.read_text(encoding="utf-8"))
        ]
        for fault in faults:
            click.echo(fault)
        if faults:
            raise click.exceptions.Exit(1)
        click.echo("no known misconfiguration")
        return
    if pools is None:
        raise ConfigError("--pools FILE is needed: manifests name a deployment for each pool")
    from analytics.scaling.manifests import manifests
    from collector.answers.pools import load_pools

    click.echo(manifests(load_pools(pools), url), nl=False)


def _objectives(folder: Path | None):  # type: ignore[no-untyped-def]  # the type would import analytics at start
    if folder is None:
        from analytics.slo import default_objective

        return (default_objective(),)
    from collector.answers.objective_files import load_objectives

    return load_objectives(folder)

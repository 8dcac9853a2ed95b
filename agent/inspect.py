"""Looks at a page once, for `scrape` and `check`: every signal it gives, what is unknown, what is missing."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TextIO

from agent.config import Config, LimitsConfig, TargetConfig
from agent.fetch import Fetcher
from agent.requestlogs.probe import look_at_log
from agent.scrape import Scraper, instance_of
from agent.targets.registry import discoveries
from signals.catalog import unit_of
from signals.errors import SloscopeError
from signals.readings import Increments, State, advance

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Look:
    """One page in canonical words; counters and histograms hold everything since the engine started."""

    engine: str
    engine_version: str | None
    models: tuple[str, ...]
    signals: tuple[Row, ...]
    histograms: tuple[Row, ...]
    unknown_families: tuple[str, ...]
    missing: tuple[str, ...]
    errors: tuple[Row, ...]
    facts: Mapping[str, str]


def look(config: TargetConfig, limits: LimitsConfig | None = None) -> Look:
    """Fetch and read a page. Raise what went wrong."""
    scraper = Scraper(config, limits or LimitsConfig(), "", Fetcher(config.tls), time.time_ns)
    reader, page = scraper.page()
    plan = reader.plan(page.layout)
    reading = reader.read(page)
    # A known target that was empty: every series contributes its whole value.
    _, increments = advance(State(reading.process_start), reading)
    errors = tuple({"line": fault.line, "series": fault.series, "why": fault.why} for fault in plan.errors)
    return Look(
        reading.engine,
        reading.engine_version,
        tuple(dict.fromkeys(model for found in increments for model in _models(found))),
        tuple(row for found in increments for row in _signals(found)),
        tuple(row for found in increments for row in _histograms(found)),
        plan.unknown,
        plan.missing,
        errors,
        reading.facts,
    )


def check_targets(config: Config, env: Mapping[str, str]) -> tuple[list[Row], bool]:
    """Ask every target once, those that are discovered too; return a row each and whether all are well."""
    rows: list[Row] = []
    good = True
    targets = {instance_of(target): target for target in config.targets}
    for source, discovery in discoveries(config, env).items():
        try:
            for found_target in discovery.find():
                targets.setdefault(instance_of(found_target.config), found_target.config)
        except SloscopeError as error:
            good = False
            rows.append(_row(f"discovery {source}", "", None, "failed", note=error.message))
    for target in targets.values():
        name = instance_of(target)
        try:
            found = look(target, config.limits)
        except SloscopeError as error:
            good = False
            rows.append(_row(name, target.url, target.engine, "failed", note=error.message))
            continue
        good = good and not found.errors
        rows.append(
            _row(
                name,
                target.url,
                f"{found.engine} {found.engine_version or ''}".strip(),
                "ok",
                models=" ".join(found.models),
                signals=len({row["signal"] for row in (*found.signals, *found.histograms)}),
                missing=" ".join(found.missing),
                unknown=" ".join(found.unknown_families),
                note=f"{len(found.errors)} lines are no samples" if found.errors else "",
            )
        )
    return rows, good


def check_logs(config: Config) -> tuple[list[Row], bool]:
    """Look at every request log once; return a row each in the form of a target's and whether all are well."""
    looks = [(source, look_at_log(source)) for source in config.requests]
    rows = [
        _row(
            source.instance or "request log",
            source.path,
            " ".join(seen.engines) or source.engine,
            "failed" if seen.fault else "ok",
            models=source.model or "",
            note=seen.fault or f"{seen.files} {'file' if seen.files == 1 else 'files'}",
        )
        for source, seen in looks
    ]
    return rows, all(seen.fault is None for _, seen in looks)


def _row(
    instance: str,
    url: str,
    engine: str | None,
    state: str,
    models: str = "",
    signals: int = 0,
    missing: str = "",
    unknown: str = "",
    note: str = "",
) -> Row:
    return {
        "instance": instance,
        "url": url,
        "engine": engine,
        "state": state,
        "models": models,
        "signals": signals,
        "missing": missing,
        "unknown": unknown,
        "note": note,
    }


def write_look(found: Look, output: str, stdout: TextIO) -> None:
    """Write a look as a table, JSON or CSV."""
    if output == "json":
        json.dump(asdict(found), stdout, indent=1)
        stdout.write("\n")
        return
    rows = [{**row, "attributes": _words(row["attributes"])} for row in found.signals]
    if output == "csv":
        write_rows(rows, output, stdout)
        return
    version = found.engine_version or "version unknown"
    stdout.write(f"{found.engine} {version}: {', '.join(found.models) or 'no model named'}\n\n")
    if not rows and not found.histograms:
        stdout.write("no signal has a value yet\n")
    write_rows(rows, output, stdout)
    stdout.write("\n")
    summary = [
        {"histogram": row["signal"], "attributes": _words(row["attributes"]), "count": row["count"], "sum": row["sum"]}
        for row in found.histograms
    ]
    write_rows(summary, output, stdout)
    for title, names in (("missing", found.missing), ("unknown families", found.unknown_families)):
        if names:
            stdout.write(f"\n{title}: {', '.join(names)}\n")
    for fault in found.errors:
        stdout.write(f"line {fault['line']}: {fault['why']}: {fault['series']}\n")


def write_rows(rows: Sequence[Row], output: str, stdout: TextIO) -> None:
    """Write rows as a table, JSON or CSV."""
    if output == "json":
        json.dump(list(rows), stdout, indent=1)
        stdout.write("\n")
        return
    if not rows:
        return
    heads = list(rows[0])
    if output == "csv":
        writer = csv.DictWriter(stdout, heads, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return
    cells = [heads, *[[_cell(row[head]) for head in heads] for row in rows]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(heads))]
    for line in cells:
        stdout.write("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n")


def _signals(found: Increments) -> list[Row]:
    group = _group(found)
    values = {**found.gauges, **found.counters}
    return [
        {"signal": signal, "value": value, "unit": unit_of(signal), "attributes": {**group, **dict(attributes)}}
        for (signal, attributes), value in values.items()
    ]


def _histograms(found: Increments) -> list[Row]:
    group = _group(found)
    return [
        {
            "signal": histogram.signal,
            "attributes": {**group, **dict(histogram.attributes)},
            "edges": list(histogram.edges),
            "counts": list(histogram.counts),
            "sum": histogram.sum,
            "count": histogram.count,
            "unit": unit_of(histogram.signal),
        }
        for histogram in found.histograms
    ]


def _models(found: Increments) -> Iterator[str]:
    """Yield the model of a group, or those that a gateway's points name."""
    if found.model:
        yield found.model
    keys = (
        *found.gauges,
        *found.counters,
        *((histogram.signal, histogram.attributes) for histogram in found.histograms),
    )
    for _, attributes in keys:
        yield from (value for name, value in attributes if name == "model")


def _group(found: Increments) -> dict[str, str]:
    named = (("model", found.model), ("role", found.role))
    return {name: value for name, value in named if value is not None}


def _words(attributes: object) -> str:
    assert isinstance(attributes, dict)
    return " ".join(f"{name}={value}" for name, value in attributes.items())


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)

"""Turns scrapes and host rows into columns of the store's tables; decides what is a column and what a signal row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

import pyarrow as pa

from signals.catalog import SAMPLE_COLUMNS
from signals.readings import Attributes, Increments
from signals.records import HostRows, Scrape
from signals.views import VIEWS

Value: TypeAlias = object
_SAMPLE = frozenset(SAMPLE_COLUMNS)
BY_POSITION = "spec_accepted_by_position"
#: Attributes of a point that are columns of `signal_samples`.
_SIGNAL_COLUMNS = ("model", "tenant", "length_bucket")

ARROW_TYPES: dict[str, pa.DataType] = {
    "TIMESTAMPTZ": pa.timestamp("us", "UTC"),
    "VARCHAR": pa.string(),
    "DOUBLE": pa.float64(),
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "SMALLINT": pa.int16(),
    "BOOLEAN": pa.bool_(),
    "BIGINT[]": pa.list_(pa.int64()),
    "DOUBLE[]": pa.list_(pa.float64()),
    "VARCHAR[]": pa.list_(pa.string()),
    "MAP(VARCHAR,VARCHAR)": pa.map_(pa.string(), pa.string()),
}


@dataclass(slots=True)
class Rows:
    """Rows to insert: table name → list of (column → value); edges are interned by `edge_set`."""

    tables: dict[str, list[dict[str, Value]]] = field(default_factory=dict)

    def add(self, table: str, row: dict[str, Value]) -> None:
        self.tables.setdefault(table, []).append(row)


class EdgeSets:
    """Numbers the distinct sets of histogram edges; new ones become rows of `stored.edge_sets`."""

    def __init__(self, known: dict[tuple[float, ...], int]) -> None:
        self._known = known

    def number(self, edges: tuple[float, ...], rows: Rows) -> int:
        found = self._known.get(edges)
        if found is None:
            found = len(self._known) + 1
            self._known[edges] = found
            rows.add("edge_sets", {"edge_set": found, "edges": list(edges)})
        return found


def add_scrape(scrape: Scrape, rows: Rows, edge_sets: EdgeSets) -> None:
    """Add one scrape: one sample row per (model, role), its histograms, and a signal row for everything else.

    A counter without a column that did not move has no row: the scrape's sample row says that it was looked at.
    """
    target = scrape.target
    ts = moment(scrape.time_ns)
    interval = None if scrape.start_ns is None else (scrape.time_ns - scrape.start_ns) / 1e9
    base: dict[str, Value] = {
        "ts": ts,
        "interval_seconds": interval,
        "instance": target.instance,
        "engine": target.engine,
        "engine_version": target.engine_version,
        "model_version": target.model_version,
        "pool": target.pool,
        "region": target.region,
        "scrape_state": scrape.state,
    }
    if not scrape.increments:
        groups = scrape.last_groups or ((target.model, target.role),)
        for model, role in groups:
            rows.add("engine_samples", {**base, "interval_seconds": None, "model": model, "role": role})
        return
    for found in scrape.increments:
        row: dict[str, Value] = {**base, "model": found.model, "role": found.role}
        positions: dict[int, int] = {}
        for table in (found.gauges, found.counters):
            for (signal, attributes), value in table.items():
                if signal == BY_POSITION:
                    positions[int(dict(attributes).get("position", 0))] = round(value or 0)
                elif signal in _SAMPLE and not attributes:
                    row[signal] = value
                elif value is not None and (value or table is found.gauges):
                    _add_signal(rows, ts, target.instance, found, signal, attributes, value)
        if positions:
            row[BY_POSITION] = [positions.get(i, 0) for i in range(max(positions) + 1)]
        rows.add("engine_samples", row)
        _add_histograms(found, ts, interval, target.instance, rows, edge_sets)


def _add_signal(
    rows: Rows, ts: datetime, instance: str, found: Increments, signal: str, attributes: Attributes, value: float
) -> None:
    have = dict(attributes)
    tenant = have.pop("tenant", None)
    tenant = tenant or have.get("tenant_id")
    rows.add(
        "signal_samples",
        {
            "ts": ts,
            "instance": instance,
            "model": have.pop("model", found.model),
            "tenant": tenant,
            "length_bucket": have.pop("length_bucket", None),
            "signal": signal,
            "attributes": list(have.items()) or None,
            "value": value,
        },
    )


def _add_histograms(
    found: Increments, ts: datetime, interval: float | None, instance: str, rows: Rows, edge_sets: EdgeSets
) -> None:
    """Add the non-empty histograms, merged over tenants; per tenant only count and sum are kept."""
    merged: dict[tuple[str | None, str, tuple[float, ...]], list[int]] = {}
    for histogram in found.histograms:
        if histogram.count == 0:
            continue
        attributes = dict(histogram.attributes)
        model = attributes.get("model", found.model)
        into = merged.setdefault((model, histogram.signal, histogram.edges), [0] * len(histogram.counts))
        for place, count in enumerate(histogram.counts):
            into[place] += count
        if histogram.attributes:
            for part, value in (("count", float(histogram.count)), ("sum", histogram.sum)):
                _add_signal(rows, ts, instance, found, f"{histogram.signal}_{part}", histogram.attributes, value)
    for (model, metric, edges), counts in merged.items():
        rows.add(
            "engine_histograms",
            {
                "ts": ts,
                "interval_seconds": interval,
                "instance": instance,
                "model": model,
                "metric": metric,
                "edge_set": edge_sets.number(edges, rows),
                "counts": counts,
            },
        )


def add_host_rows(batch: HostRows, rows: Rows) -> None:
    """Add GPU, event, host and lifecycle rows; columns that the store does not have are dropped."""
    ts = moment(batch.time_ns)
    for view, found in batch.rows.items():
        columns = {column.name: column.type for column in VIEWS[view].columns}
        for values in found:
            row: dict[str, Value] = {"ts": ts, "host": batch.host}
            row.update(values)
            rows.add(
                view, {name: _typed(row[name], kind) for name, kind in columns.items() if row.get(name) is not None}
            )


def _typed(value: Value, kind: str) -> Value:
    """Return a value that came as text or float in the column's own type."""
    if kind.endswith("[]") and isinstance(value, str):
        return [item for item in value.split(",") if item]
    if kind in {"BIGINT", "INTEGER"} and isinstance(value, int | float | str):
        return int(float(value))
    if kind == "TIMESTAMPTZ" and isinstance(value, int | float):
        return datetime.fromtimestamp(float(value), UTC)
    if kind == "TIMESTAMPTZ" and isinstance(value, str):
        return datetime.fromisoformat(value)
    if kind == "DOUBLE" and isinstance(value, str):
        return float(value)
    return value


def arrow(table: str, rows: Sequence[dict[str, Value]], types: dict[str, str]) -> pa.Table:
    """Return the rows as an Arrow table with the store's columns; absent values are NULL."""
    names = [name for name in types if any(name in row for row in rows)]
    return pa.table(
        {name: pa.array([row.get(name) for row in rows], type=ARROW_TYPES[types[name]]) for name in names}
    ).replace_schema_metadata({"table": table})


def moment(ns: int) -> datetime:
    """Return Unix nanoseconds as an aware datetime (microseconds)."""
    return datetime.fromtimestamp(ns // 1000 / 1e6, UTC)

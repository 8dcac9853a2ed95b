"""Decodes OTLP metrics that an agent wrote back into scrapes and host rows; the slow, general path and the oracle."""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
)

from signals import wire
from signals.errors import PayloadError
from signals.readings import Attributes, HistogramIncrement, Increments
from signals.records import FAILED, GONE, HostRows, Identity, Scrape, Target

Group = tuple[str | None, str | None]
#: Views whose rows travel as `sloscope.<view>.<column>` points.
ROW_VIEWS = ("gpu_samples", "gpu_events", "host_samples", "instances", "instance_aliases")


def parse_export(body: bytes) -> ExportMetricsServiceRequest:
    """Return the message of an OTLP protobuf body; PayloadError when it is none."""
    message = ExportMetricsServiceRequest()
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        raise PayloadError(f"body of {len(body)} bytes is no OTLP metrics request: {error}") from error
    return message


def attributes_of(pairs: Iterable[KeyValue]) -> dict[str, str]:
    """Return the text, number and boolean attributes as text; lists and maps are left out."""
    found = {}
    for pair in pairs:
        kind = pair.value.WhichOneof("value")
        if kind in {"string_value", "int_value", "double_value", "bool_value"}:
            found[pair.key] = str(getattr(pair.value, kind))
    return found


def is_agent_batch(message: ResourceMetrics) -> bool:
    """Return whether one of our agents wrote this: only then are its names canonical and its counters deltas."""
    return any(pair.key == wire.AGENT for pair in message.resource.attributes)


def decode_resource(message: ResourceMetrics) -> Scrape | HostRows:
    """Return the scrape or the host rows of one ResourceMetrics of an agent."""
    have = attributes_of(message.resource.attributes)
    identity = identity_of(have)
    metrics = [metric for scope in message.scope_metrics for metric in scope.metrics]
    if wire.SCRAPE_STATE not in have:
        return _host_rows(identity, have, metrics)
    groups: dict[Group, _Group] = {}
    time_ns, start_ns = 0, 0
    for metric in metrics:
        signal = metric.name.removeprefix(wire.PREFIX)
        for point in _points(metric):
            time_ns = point.time_unix_nano
            start_ns = max(start_ns, point.start_time_unix_nano)
            attributes = attributes_of(point.attributes)
            key = (attributes.pop(wire.POINT_MODEL, None), attributes.pop(wire.POINT_ROLE, None))
            if metric.name == wire.UP and have[wire.SCRAPE_STATE] in {FAILED, GONE}:
                continue
            group = groups.setdefault(key, _Group())
            group.add(metric, signal, tuple(sorted(attributes.items())), point)
    last = json.loads(have.get(wire.LAST_GROUPS, "[]"))
    start = have.get(wire.PROCESS_START)
    return Scrape(
        identity,
        target_of(have),
        time_ns,
        start_ns or None,
        have[wire.SCRAPE_STATE],
        tuple(group.increments(*key) for key, group in groups.items()),
        tuple((model, role) for model, role in last),
        {name.removeprefix(wire.FACT): value for name, value in have.items() if name.startswith(wire.FACT)},
        float(start) if start else None,
        have.get(wire.SCRAPE_ERROR),
    )


def identity_of(have: dict[str, str]) -> Identity:
    """Return the batch identity; PayloadError when it is incomplete or of an unknown schema."""
    schema = have.get(wire.SCHEMA, wire.SCHEMA_VERSION)
    if schema != wire.SCHEMA_VERSION:
        raise PayloadError(f"batch of schema {schema}; this collector reads {wire.SCHEMA_VERSION}: upgrade it")
    try:
        return Identity(have[wire.AGENT], have[wire.EPOCH], int(have[wire.SEQUENCE]))
    except (KeyError, ValueError) as error:
        raise PayloadError(
            f"batch without a usable identity: {wire.AGENT}, {wire.EPOCH} and {wire.SEQUENCE} are needed"
        ) from error


class _Group:
    """Collects the points of one (model, role)."""

    def __init__(self) -> None:
        self.gauges: dict[tuple[str, Attributes], float | None] = {}
        self.counters: dict[tuple[str, Attributes], float] = {}
        self.histograms: list[HistogramIncrement] = []

    def add(
        self, metric: Metric, signal: str, attributes: Attributes, point: NumberDataPoint | HistogramDataPoint
    ) -> None:
        if isinstance(point, HistogramDataPoint):
            self.histograms.append(
                HistogramIncrement(
                    signal,
                    attributes,
                    tuple(point.explicit_bounds),
                    tuple(point.bucket_counts),
                    point.sum,
                    point.count,
                )
            )
            return
        if metric.name == wire.UP:
            return
        value = point.as_double if point.WhichOneof("value") == "as_double" else float(point.as_int)
        if metric.WhichOneof("data") == "sum":
            if isfinite(value):
                self.counters[(signal, attributes)] = value
        else:
            self.gauges[(signal, attributes)] = value if isfinite(value) else None

    def increments(self, model: str | None, role: str | None) -> Increments:
        moved = any(value > 0 for value in self.counters.values())
        return Increments(model, role, self.gauges, self.counters, tuple(self.histograms), 0, moved)


def _points(metric: Metric) -> list[NumberDataPoint | HistogramDataPoint]:
    kind = metric.WhichOneof("data")
    if kind == "gauge":
        return list(metric.gauge.data_points)
    if kind == "sum":
        return list(metric.sum.data_points)
    if kind == "histogram":
        return list(metric.histogram.data_points)
    return []


def target_of(have: dict[str, str]) -> Target:
    gpus = tuple(gpu for gpu in have.get(wire.GPUS, "").split(",") if gpu)
    return Target(
        have.get(wire.INSTANCE, have.get("service.instance.id", "")),
        have.get(wire.ENGINE),
        have.get(wire.MODEL),
        have.get(wire.ROLE),
        have.get(wire.ENGINE_VERSION),
        have.get(wire.MODEL_VERSION),
        have.get(wire.POOL),
        have.get(wire.REGION),
        have.get(wire.HOST),
        gpus,
    )


def _host_rows(identity: Identity, have: dict[str, str], metrics: list[Metric]) -> HostRows:
    rows: dict[str, dict[str, dict[str, object]]] = {}
    time_ns = 0
    for metric in metrics:
        view, _, column = metric.name.removeprefix(wire.PREFIX).partition(".")
        if view not in ROW_VIEWS or metric.WhichOneof("data") != "gauge":
            continue
        for point in metric.gauge.data_points:
            time_ns = point.time_unix_nano
            attributes = attributes_of(point.attributes)
            row = rows.setdefault(view, {}).setdefault(attributes.pop("row", "0"), {})
            if column == "row":
                row.update(attributes)
            else:
                row[column] = point.as_double
    found = {view: tuple(table.values()) for view, table in rows.items()}
    return HostRows(identity, have.get(wire.HOST, ""), time_ns, None, found)

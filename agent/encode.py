"""Encodes scrapes and host rows as OTLP ResourceMetrics (protobuf); never decides what is sent or when."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric, ResourceMetrics

from signals import wire
from signals.catalog import unit_of
from signals.readings import Attributes, Increments
from signals.records import HostRows, Identity, Scrape, Target

DELTA = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA


def encode_scrape(scrape: Scrape) -> ResourceMetrics:
    """Return the ResourceMetrics of one scrape: all its points share one time, counters are deltas."""
    message = ResourceMetrics()
    attributes = {**_identity(scrape.identity), **_target(scrape.target), wire.SCRAPE_STATE: scrape.state}
    if scrape.error:
        attributes[wire.SCRAPE_ERROR] = scrape.error
    if scrape.process_start is not None:
        attributes[wire.PROCESS_START] = repr(scrape.process_start)
    if scrape.last_groups:
        attributes[wire.LAST_GROUPS] = json.dumps(scrape.last_groups)
    attributes.update({wire.FACT + name: value for name, value in scrape.facts.items()})
    message.resource.attributes.extend(_pairs(attributes))
    metrics = _Metrics(message, scrape.time_ns, scrape.start_ns)
    for found in scrape.increments:
        metrics.add(found)
    if not scrape.increments:
        metrics.gauge(wire.UP, (), 0.0)
    return message


def encode_host_rows(batch: HostRows) -> ResourceMetrics:
    """Return GPU, event and host rows: a `.row` point carries the text columns, one point each numeric column."""
    message = ResourceMetrics()
    message.resource.attributes.extend(_pairs({**_identity(batch.identity), wire.HOST: batch.host}))
    metrics = _Metrics(message, batch.time_ns, batch.start_ns)
    for view, rows in batch.rows.items():
        for number, row in enumerate(rows):
            place = (("row", str(number)),)
            words = tuple((k, _text(v)) for k, v in sorted(row.items()) if isinstance(v, str | tuple | list))
            metrics.gauge(f"{wire.PREFIX}{view}.row", (*place, *words), 1.0)
            for column, value in row.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    metrics.gauge(f"{wire.PREFIX}{view}.{column}", place, float(value))
    return message


def export_request(messages: Iterable[ResourceMetrics]) -> bytes:
    """Return one OTLP export body."""
    return ExportMetricsServiceRequest(resource_metrics=list(messages)).SerializeToString()


class _Metrics:
    """The metrics of one ResourceMetrics by name."""

    def __init__(self, message: ResourceMetrics, time_ns: int, start_ns: int | None) -> None:
        self._scope = message.scope_metrics.add()
        self._scope.scope.name = wire.SCOPE
        self._time = time_ns
        self._start = start_ns or 0
        self._metrics: dict[str, Metric] = {}

    def add(self, found: Increments) -> None:
        group = _group(found.model, found.role)
        self.gauge(wire.UP, group, 1.0)
        for (signal, attributes), value in found.gauges.items():
            if value is not None:
                self.gauge(wire.PREFIX + signal, group + attributes, value)
        for (signal, attributes), value in found.counters.items():
            metric = self._metric(wire.PREFIX + signal)
            metric.sum.aggregation_temporality = DELTA
            metric.sum.is_monotonic = True
            point = metric.sum.data_points.add(
                time_unix_nano=self._time, start_time_unix_nano=self._start, as_double=value
            )
            point.attributes.extend(_pairs(dict(group + attributes)))
        for histogram in found.histograms:
            metric = self._metric(wire.PREFIX + histogram.signal)
            metric.histogram.aggregation_temporality = DELTA
            bins = metric.histogram.data_points.add(
                time_unix_nano=self._time,
                start_time_unix_nano=self._start,
                count=histogram.count,
                sum=histogram.sum,
                explicit_bounds=histogram.edges,
                bucket_counts=histogram.counts,
            )
            bins.attributes.extend(_pairs(dict(group + histogram.attributes)))

    def gauge(self, name: str, attributes: Attributes, value: float) -> None:
        point = self._metric(name).gauge.data_points.add(time_unix_nano=self._time, as_double=value)
        point.attributes.extend(_pairs(dict(attributes)))

    def _metric(self, name: str) -> Metric:
        found = self._metrics.get(name)
        if found is None:
            found = self._scope.metrics.add(name=name, unit=unit_of(name.removeprefix(wire.PREFIX)))
            self._metrics[name] = found
        return found


def _group(model: str | None, role: str | None) -> Attributes:
    found = []
    if model is not None:
        found.append((wire.POINT_MODEL, model))
    if role is not None:
        found.append((wire.POINT_ROLE, role))
    return tuple(found)


def _identity(identity: Identity) -> dict[str, str]:
    return {
        wire.AGENT: identity.agent,
        wire.EPOCH: identity.epoch,
        wire.SEQUENCE: str(identity.sequence),
        wire.SCHEMA: wire.SCHEMA_VERSION,
    }


def _target(target: Target) -> dict[str, str]:
    named = {
        wire.INSTANCE: target.instance,
        wire.ENGINE: target.engine,
        wire.ENGINE_VERSION: target.engine_version,
        wire.MODEL_VERSION: target.model_version,
        wire.POOL: target.pool,
        wire.REGION: target.region,
        wire.HOST: target.host,
        wire.MODEL: target.model,
        wire.ROLE: target.role,
        wire.GPUS: ",".join(target.gpus),
    }
    return {name: value for name, value in named.items() if value}


def _pairs(attributes: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=key, value=AnyValue(string_value=value)) for key, value in attributes.items()]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ",".join(str(item) for item in value)  # type: ignore[attr-defined]  # a sequence of words

"""Reads OTLP metrics of senders that are not our agents: raw engine families, and the gen_ai.* metrics of SDKs.

Cumulative points are taken as they are, delta points are added up first, so that both go through the dialects. What
no dialect knows and does not begin with `gen_ai.` is counted and let go.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite

import pyarrow as pa
from opentelemetry.proto.metrics.v1.metrics_pb2 import HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics

from collector.receivers.decode import attributes_of
from collector.receivers.series import Labels, SeriesTargets, labels_of
from collector.store.batch import Batch, TableBatch
from collector.store.rows import ARROW_TYPES, moment
from signals.errors import InputError
from signals.records import Identity, Target
from signals.views import VIEWS

GEN_AI = "gen_ai."
#: Last values kept for deltas and gen_ai counters; the one unseen longest is forgotten.
MAX_VALUES = 200_000
DELTA = 1
MODEL_ATTRIBUTES = ("gen_ai.response.model", "gen_ai.request.model")
#: Resource attributes that name a target, in order of preference.
INSTANCE_ATTRIBUTES = ("service.instance.id", "k8s.pod.name", "host.name", "service.name")


@dataclass(slots=True)
class ForeignRead:
    """What one ResourceMetrics of another sender says; `ignored` points were of families that nothing needs."""

    batches: list[Batch] = field(default_factory=list)
    ignored: int = 0


class ForeignMetrics:
    """Reads foreign senders; keeps their last values. Not safe from several threads at once."""

    def __init__(self, targets: SeriesTargets) -> None:
        self._targets = targets
        self._values: OrderedDict[tuple[str, Labels], float] = OrderedDict()

    def read(self, message: ResourceMetrics, peer: str, digest: str) -> ForeignRead:
        """Return the batches of one ResourceMetrics; `digest` names its content, `peer` a sender without a name."""
        have = attributes_of(message.resource.attributes)
        instance = next((have[name] for name in INSTANCE_ATTRIBUTES if have.get(name)), peer)
        target = Target(
            instance,
            model=have.get("sloscope.model"),
            pool=have.get("sloscope.pool"),
            region=have.get("cloud.region"),
            host=have.get("host.name"),
        )
        found = ForeignRead()
        pages: dict[int, dict[Labels, float]] = {}
        rows: list[dict[str, object]] = []
        delta = False
        for scope in message.scope_metrics:
            for metric in scope.metrics:
                delta = delta or _temporality(metric) == DELTA
                for point in _points(metric):
                    if metric.name.startswith(GEN_AI):
                        rows.extend(self._rows(metric, point, instance))
                    else:
                        page = pages.setdefault(point.time_unix_nano, {})
                        page.update(self._samples(metric, point, instance))
        for time_ns, samples in sorted(pages.items()):
            scrape = self._targets.scrape("otlp", target, time_ns, samples, from_zero=delta)
            if scrape is None:
                found.ignored += len(samples)
            else:
                found.batches.append(scrape)
        if rows:
            found.batches.append(_signal_batch(Identity(f"otlp:{instance}", digest, 1), rows))
        return found

    def _samples(
        self, metric: Metric, point: NumberDataPoint | HistogramDataPoint, instance: str
    ) -> Iterator[tuple[Labels, float]]:
        """Yield the series of one point as Prometheus would write them, cumulative."""
        attributes = attributes_of(point.attributes)
        for suffix, more, value in _series_of(metric, point):
            labels = labels_of(metric.name + suffix, {**attributes, **more})
            if not isfinite(value):
                continue
            if _temporality(metric) == DELTA:
                value = self._add((instance, labels), value)
            yield labels, value

    def _rows(
        self, metric: Metric, point: NumberDataPoint | HistogramDataPoint, instance: str
    ) -> Iterator[dict[str, object]]:
        """Yield rows of signal_samples: gauges as they are, everything else as increments."""
        attributes = attributes_of(point.attributes)
        model = next((attributes[name] for name in MODEL_ATTRIBUTES if attributes.get(name)), None)
        for suffix, more, value in _series_of(metric, point):
            if not isfinite(value):
                continue
            kept = {**attributes, **more}
            if metric.WhichOneof("data") != "gauge" and _temporality(metric) != DELTA:
                increase = self._increase((instance, labels_of(metric.name + suffix, kept)), value)
                if increase is None:
                    continue
                value = increase
            if more and value == 0:
                continue
            yield {
                "ts": moment(point.time_unix_nano),
                "instance": instance,
                "model": model,
                "signal": metric.name + suffix,
                "attributes": list(kept.items()),
                "value": value,
            }

    def _add(self, key: tuple[str, Labels], value: float) -> float:
        total = self._values.get(key, 0.0) + value
        self._keep(key, total)
        return total

    def _increase(self, key: tuple[str, Labels], value: float) -> float | None:
        last = self._values.get(key)
        self._keep(key, value)
        if last is None:
            return None
        return value if value < last else value - last

    def _keep(self, key: tuple[str, Labels], value: float) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > MAX_VALUES:
            self._values.popitem(last=False)


def _points(metric: Metric) -> list[NumberDataPoint | HistogramDataPoint]:
    kind = metric.WhichOneof("data")
    if kind not in {"gauge", "sum", "histogram"}:
        return []
    points = list(getattr(metric, kind).data_points)
    for point in points:
        if not 0 < point.time_unix_nano < 1 << 63:
            raise InputError(f"{metric.name}: a point without a usable time")
    return points


def _temporality(metric: Metric) -> int:
    kind = metric.WhichOneof("data")
    if kind not in {"sum", "histogram"}:
        return 0
    temporality: int = getattr(metric, kind).aggregation_temporality
    return temporality


def _series_of(
    metric: Metric, point: NumberDataPoint | HistogramDataPoint
) -> Iterator[tuple[str, Mapping[str, str], float]]:
    if isinstance(point, NumberDataPoint):
        value = point.as_double if point.WhichOneof("value") == "as_double" else float(point.as_int)
        yield "", {}, value
        return
    if len(point.bucket_counts) not in {0, len(point.explicit_bounds) + 1}:
        raise InputError(f"{metric.name}: {len(point.bucket_counts)} buckets for {len(point.explicit_bounds)} edges")
    total = 0
    for edge, count in zip([*point.explicit_bounds, float("inf")], point.bucket_counts, strict=False):
        total += count
        yield "_bucket", {"le": "+Inf" if edge == float("inf") else repr(edge)}, float(total)
    yield "_sum", {}, point.sum
    yield "_count", {}, float(point.count)


def _signal_batch(identity: Identity, rows: list[dict[str, object]]) -> TableBatch:
    types = {column.name: column.type for column in VIEWS["signal_samples"].columns}
    columns = {name: pa.array([row[name] for row in rows], type=ARROW_TYPES[types[name]]) for name in rows[0]}
    return TableBatch(identity, "signal_samples", pa.table(columns))

"""Metrics of other OTLP senders go through the dialects, or become signal rows."""

from __future__ import annotations

from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics

from collector.receivers.foreign import ForeignMetrics
from collector.receivers.series import SeriesTargets
from collector.store.batch import TableBatch
from signals.records import Scrape

S = 1_000_000_000
T0 = 1_780_000_000 * S
CUMULATIVE, DELTA = 2, 1


def message(seconds: int, prompts: float, temporality: int = CUMULATIVE) -> ResourceMetrics:
    found = ResourceMetrics()
    found.resource.attributes.add(key="service.instance.id").value.string_value = "10.0.0.1:8000"
    scope = found.scope_metrics.add()
    gauge = scope.metrics.add(name="vllm:num_requests_running").gauge.data_points.add(
        time_unix_nano=T0 + seconds * S, as_double=2.0
    )
    metric = scope.metrics.add(name="vllm:prompt_tokens_total")
    metric.sum.aggregation_temporality = temporality
    point = metric.sum.data_points.add(time_unix_nano=T0 + seconds * S, as_double=prompts)
    for one in (gauge, point):
        one.attributes.add(key="model_name").value.string_value = "m"
    return found


def prompts_of(batches: list[object]) -> list[float]:
    return [
        value
        for batch in batches
        if isinstance(batch, Scrape)
        for found in batch.increments
        for (name, _), value in found.counters.items()
        if name == "prompt_tokens"
    ]


def test_cumulative_sums_become_increases() -> None:
    foreign = ForeignMetrics(SeriesTargets())
    first = foreign.read(message(0, 100), "peer", "d0")
    second = foreign.read(message(15, 130), "peer", "d1")
    assert prompts_of(list(first.batches)) == []
    assert prompts_of(list(second.batches)) == [30]


def test_delta_sums_count_as_they_are() -> None:
    foreign = ForeignMetrics(SeriesTargets())
    found = [
        amount
        for seconds, tokens in ((0, 100.0), (15, 30.0))
        for amount in prompts_of(list(foreign.read(message(seconds, tokens, DELTA), "peer", "d").batches))
    ]
    assert found == [100, 30]


def test_families_that_nothing_needs_are_counted() -> None:
    other = ResourceMetrics()
    gauge = other.scope_metrics.add().metrics.add(name="process.cpu.time").gauge
    gauge.data_points.add(time_unix_nano=T0, as_double=2.0)
    found = ForeignMetrics(SeriesTargets()).read(other, "peer", "d")
    assert (found.batches, found.ignored) == ([], 1)


def test_gen_ai_metrics_become_signal_rows() -> None:
    other = ResourceMetrics()
    other.resource.attributes.add(key="service.name").value.string_value = "app"
    metric = other.scope_metrics.add().metrics.add(name="gen_ai.server.time_to_first_token")
    metric.histogram.aggregation_temporality = DELTA
    point = metric.histogram.data_points.add(
        time_unix_nano=T0, count=3, sum=1.5, explicit_bounds=[0.5, 1.0], bucket_counts=[1, 2, 0]
    )
    point.attributes.add(key="gen_ai.request.model").value.string_value = "m"
    (batch,) = ForeignMetrics(SeriesTargets()).read(other, "peer", "d").batches
    assert isinstance(batch, TableBatch)
    rows = {(row["signal"], dict(row["attributes"]).get("le")): row["value"] for row in batch.table.to_pylist()}
    assert rows[("gen_ai.server.time_to_first_token_count", None)] == 3
    assert rows[("gen_ai.server.time_to_first_token_bucket", "0.5")] == 1
    assert batch.table.column("model").to_pylist()[0] == "m"

"""Sends the canonical signals to any OTLP backend, as cumulative sums and histograms; keeps no queue.

The data model and the encoder are the OpenTelemetry SDK's. Cumulative values need no queue: after an outage the next
export says everything but the gauges' past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.config import OtlpOutput
from agent.fetch import Credentials, Fetcher
from agent.log import log
from agent.outputs.totals import Account, Labels
from agent.ship import gzipped
from signals import wire
from signals.catalog import SIGNALS, unit_of
from signals.errors import SloscopeError
from signals.records import Target

if TYPE_CHECKING:  # the SDK is loaded by those who send to such a backend
    from opentelemetry.sdk.metrics.export import Gauge, Histogram, Metric, Sum

LIMIT_SECONDS = 10.0


@dataclass(slots=True)
class OtlpExporter:
    """One backend. `count` is told the outcome of each export."""

    config: OtlpOutput
    accounts: Callable[[], Sequence[Account]]
    count: Callable[[str], None]
    fetcher: Fetcher = field(default_factory=Fetcher)
    _failing: bool = False

    def export(self) -> None:
        """Send everything once; a failure is counted, and the next export makes up for it."""
        accounts = self.accounts()
        if not accounts:
            return
        headers = {
            "Content-Type": "application/x-protobuf",
            "Content-Encoding": "gzip",
            **Credentials.of(None, self.config.headers_file).headers(),
        }
        error = None
        try:
            answer = self.fetcher.post(self.config.url, headers, gzipped(encode(accounts)), LIMIT_SECONDS)
            if not 200 <= answer.status < 300:
                error = f"HTTP {answer.status}"
        except SloscopeError as refused:
            error = refused.message
        if error and not self._failing:
            log.warning("OTLP export to %s failed: %s", self.config.url, error)
        if error:
            self.fetcher.renew()
        self._failing = error is not None
        self.count("failed" if error else "ok")


def encode(accounts: Iterable[Account]) -> bytes:
    """Return an ExportMetricsServiceRequest with one resource for each target."""
    from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
    from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    scope = InstrumentationScope(wire.SCOPE)
    parts = [
        ResourceMetrics(Resource(resource_of(account.target)), [ScopeMetrics(scope, _metrics(account), "")], "")
        for account in accounts
    ]
    return bytes(encode_metrics(MetricsData(parts)).SerializeToString())


def resource_of(target: Target) -> Mapping[str, str]:
    """Return resource attributes by OpenTelemetry's names where it has some, else by ours."""
    named = {
        "service.name": target.engine or "llm",
        "service.instance.id": target.instance,
        "service.version": target.engine_version,
        "host.name": target.host,
        wire.POOL: target.pool,
        wire.REGION: target.region,
        wire.MODEL_VERSION: target.model_version,
    }
    return {name: value for name, value in named.items() if value}


def _metrics(account: Account) -> list[Metric]:
    from opentelemetry.sdk.metrics.export import (
        AggregationTemporality,
        Gauge,
        Histogram,
        HistogramDataPoint,
        NumberDataPoint,
        Sum,
    )

    cumulative = AggregationTemporality.CUMULATIVE
    since, now = account.since_ns, account.time_ns
    gauges: dict[str, list[NumberDataPoint]] = {"up": [NumberDataPoint({}, since, now, float(account.up))]}
    sums: dict[str, list[NumberDataPoint]] = {}
    histograms: dict[str, list[HistogramDataPoint]] = {}
    for (signal, labels), value in account.gauges.items():
        gauges.setdefault(signal, []).append(NumberDataPoint(_attributes(labels), since, now, value))
    for (signal, labels), value in account.counters.items():
        sums.setdefault(signal, []).append(NumberDataPoint(_attributes(labels), since, now, value))
    for (signal, labels, edges), running in account.histograms.items():
        point = HistogramDataPoint(
            attributes=_attributes(labels),
            start_time_unix_nano=since,
            time_unix_nano=now,
            count=running.count,
            sum=running.sum,
            bucket_counts=running.counts,
            explicit_bounds=edges,
            min=None,  # type: ignore[arg-type]  # optional on the wire
            max=None,  # type: ignore[arg-type]  # optional on the wire
        )
        histograms.setdefault(signal, []).append(point)
    return [
        *(_metric(name, Gauge(points)) for name, points in gauges.items()),
        *(_metric(name, Sum(points, cumulative, True)) for name, points in sums.items()),
        *(_metric(name, Histogram(points, cumulative)) for name, points in histograms.items()),
    ]


def _metric(signal: str, data: Gauge | Sum | Histogram) -> Metric:
    from opentelemetry.sdk.metrics.export import Metric

    text = SIGNALS[signal].help if signal in SIGNALS else "whether the last scrape was good"
    return Metric(wire.PREFIX + signal, text, unit_of(signal), data)


def _attributes(labels: Labels) -> dict[str, str]:
    return dict(labels)

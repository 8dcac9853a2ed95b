"""Turns an OTLP metrics request into batches: our agents' scrapes as they are, other senders' through the dialects."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics

from collector.receivers.checks import check_batch
from collector.receivers.columns import ColumnDecoder, message_at
from collector.receivers.decode import decode_resource, is_agent_batch, parse_export
from collector.receivers.foreign import ForeignMetrics
from collector.receivers.remote_write import TargetPage
from collector.receivers.series import SeriesTargets
from collector.store.batch import Batch
from signals.errors import InputError, PayloadError
from signals.records import Scrape

__all__ = ["DecodedMetrics", "MetricsReceiver", "count_points", "parse_export"]


@dataclass(slots=True)
class DecodedMetrics:
    """Batches of one request; what had to be refused: points, and why the first of them; what nothing needs."""

    batches: list[Batch] = field(default_factory=list)
    rejected: int = 0
    why: InputError | None = None
    ignored: int = 0
    sent_at_ns: int | None = None

    def refuse(self, points: int, why: InputError) -> None:
        self.rejected += points
        self.why = self.why or why


class MetricsReceiver:
    """Decodes metrics of every sender; holds the last readings of those that send cumulative values.

    `oldest_ns`: scrapes of senders that number nothing are refused when they are older.
    """

    def __init__(self, oldest_ns: Callable[[], int] = lambda: 0) -> None:
        self._targets = SeriesTargets(oldest_ns)
        self._foreign = ForeignMetrics(self._targets)
        self._columns = ColumnDecoder()
        self._lock = threading.Lock()

    def decode_body(self, body: bytes, peer: str) -> DecodedMetrics:
        """Return the batches of a protobuf body: by layouts where they fit, else as `decode`; PayloadError if none."""
        with self._lock:
            split = self._columns.decode(body)
        decoded = DecodedMetrics(list(split.batches), sent_at_ns=split.sent_at_ns)
        for part in split.others:
            try:
                self._read(message_at(body, part), peer, decoded)
            except PayloadError as error:
                decoded.refuse(1, error)
        return decoded

    def decode(self, message: ExportMetricsServiceRequest, peer: str) -> DecodedMetrics:
        """Return the batches of a request; a ResourceMetrics that cannot be read is refused and the rest is kept."""
        decoded = DecodedMetrics()
        for resource in message.resource_metrics:
            self._read(resource, peer, decoded)
        return decoded

    def _read(self, resource: ResourceMetrics, peer: str, decoded: DecodedMetrics) -> None:
        try:
            if is_agent_batch(resource):
                batch = decode_resource(resource)
                check_batch(batch)
                decoded.batches.append(batch)
            else:
                self._read_foreign(resource, peer, decoded)
        except InputError as error:
            decoded.refuse(count_points(resource), error)
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            decoded.refuse(count_points(resource), InputError(f"a ResourceMetrics cannot be read: {error}"))

    def remote_write(self, page: TargetPage) -> Scrape | None:
        """Return the scrape of one target as Prometheus wrote it, None when no engine speaks like it."""
        with self._lock:
            if page.up == 0 and not page.samples:
                why = "Prometheus could not scrape the target"
                return self._targets.failed("remote-write", page.target, page.time_ms * 1_000_000, why)
            return self._targets.scrape("remote-write", page.target, page.time_ms * 1_000_000, page.samples)

    def forget(self, instances: Iterable[str]) -> None:
        """Forget the last readings behind scrapes that were not stored: what comes next starts anew."""
        with self._lock:
            for instance in instances:
                self._targets.forget(instance)

    def _read_foreign(self, resource: ResourceMetrics, peer: str, decoded: DecodedMetrics) -> None:
        digest = hashlib.sha256(resource.SerializeToString(deterministic=True)).hexdigest()
        with self._lock:
            found = self._foreign.read(resource, peer, digest)
        decoded.batches.extend(found.batches)
        decoded.ignored += found.ignored


def count_points(message: ResourceMetrics) -> int:
    """Return how many data points a ResourceMetrics has, at least 1."""
    total = 0
    for scope in message.scope_metrics:
        for metric in scope.metrics:
            kind = metric.WhichOneof("data")
            total += len(getattr(metric, kind).data_points) if kind else 0
    return max(1, total)

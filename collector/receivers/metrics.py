"""Turns an OTLP metrics request into batches: our agents' scrapes as they are, other senders' through the dialects."""

from __future__ import annotations

from dataclasses import dataclass, field

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics

from collector.receivers.decode import decode_resource, is_agent_batch, parse_export
from collector.store.batch import Batch
from signals.errors import InputError

__all__ = ["DecodedMetrics", "decode_metrics", "parse_export"]


@dataclass(slots=True)
class DecodedMetrics:
    """Batches of one request, and what had to be refused: points, and why the first of them."""

    batches: list[Batch] = field(default_factory=list)
    rejected: int = 0
    why: InputError | None = None

    def refuse(self, points: int, why: InputError) -> None:
        self.rejected += points
        self.why = self.why or why


def decode_metrics(message: ExportMetricsServiceRequest, peer: str) -> DecodedMetrics:
    """Return the batches of a request; a ResourceMetrics that cannot be read is refused and the rest is kept."""
    decoded = DecodedMetrics()
    for resource in message.resource_metrics:
        try:
            if is_agent_batch(resource):
                decoded.batches.append(decode_resource(resource))
            else:
                decoded.refuse(
                    count_points(resource), InputError(f"{peer}: metrics of other senders are not read here")
                )
        except InputError as error:
            decoded.refuse(count_points(resource), error)
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            decoded.refuse(count_points(resource), InputError(f"a ResourceMetrics cannot be read: {error}"))
    return decoded


def count_points(message: ResourceMetrics) -> int:
    """Return how many data points a ResourceMetrics has, at least 1."""
    total = 0
    for scope in message.scope_metrics:
        for metric in scope.metrics:
            kind = metric.WhichOneof("data")
            total += len(getattr(metric, kind).data_points) if kind else 0
    return max(1, total)

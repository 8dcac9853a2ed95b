"""Reads OTLP logs for what they tell of changes and requests; every other record is let go, and no text is kept.

A change is a record with the attribute `sloscope.change.kind`, or a Kubernetes event as the OpenTelemetry Collector's
k8s_events receiver writes it. A request is a record whose body is a JSON line of a request log that a dialect knows.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs

from collector.receivers.changes.form import KINDS, Change, placed, text
from collector.receivers.changes.kubernetes import REASONS
from collector.receivers.changes.registry import change_batch
from collector.receivers.traces import scalars
from collector.store.batch import Batch, HalfBatch
from collector.store.rows import moment
from signals.errors import PayloadError
from signals.records import Identity
from signals.requestlog import LogReader
from signals.spans import RequestHalf, Scalar

CHANGE_KIND = "sloscope.change.kind"


@dataclass(slots=True)
class DecodedLogs:
    """The batches of one request; `ignored` records told of nothing that is kept."""

    batches: list[Batch] = field(default_factory=list)
    ignored: int = 0


def parse_logs(body: bytes) -> ExportLogsServiceRequest:
    """Return the message of an OTLP protobuf body; PayloadError when it is none."""
    message = ExportLogsServiceRequest()
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        raise PayloadError(f"body of {len(body)} bytes is no OTLP logs request: {error}") from error
    return message


def decode_logs(message: ExportLogsServiceRequest, peer: str, now: datetime) -> DecodedLogs:
    """Return the changes and request halves of a request."""
    decoded = DecodedLogs()
    for resource in message.resource_logs:
        _resource(resource, peer, now, decoded)
    return decoded


def _resource(message: ResourceLogs, peer: str, now: datetime, decoded: DecodedLogs) -> None:
    resource = scalars(message.resource.attributes)
    content = message.SerializeToString(deterministic=True)
    sender = str(resource.get("service.instance.id") or resource.get("service.name") or peer)
    changes: list[Change] = []
    halves: list[RequestHalf] = []
    for scope in message.scope_logs:
        for record in scope.log_records:
            change = _change(record, resource, now)
            half = None if change is not None else _half(record)
            if change is not None:
                changes.append(change)
            elif half is not None:
                halves.append(half)
            else:
                decoded.ignored += 1
    if changes:
        decoded.batches.append(change_batch(changes, content, sender))
    if halves:
        identity = Identity(f"otlp:{sender}", hashlib.sha256(content).hexdigest(), 0)
        decoded.batches.append(HalfBatch(identity, tuple(halves)))


def _change(record: LogRecord, resource: dict[str, Scalar], now: datetime) -> Change | None:
    have = {**resource, **scalars(record.attributes)}
    kind = text(have.get(CHANGE_KIND))
    reason = text(have.get("k8s.event.reason"))
    source = "otlp"
    if kind is None and reason is not None:
        kind, source = REASONS.get(reason) or ("fault" if record.severity_number >= 13 else None), "kubernetes"
    if kind not in KINDS:
        return None
    stamp = record.time_unix_nano or record.observed_time_unix_nano
    told = text(record.body.string_value) or text(have.get("sloscope.change.summary")) or reason or kind
    place = placed({name.removeprefix("sloscope.change."): value for name, value in have.items()})
    name = text(have.get("k8s.object.name"))
    if name:
        place.setdefault("instance" if have.get("k8s.object.kind") == "Pod" else "pool", name)
    return Change(moment(stamp) if 0 < stamp < 1 << 62 else now, kind, told, source, None, **place)


def _half(record: LogRecord) -> RequestHalf | None:
    body = record.body.string_value
    if not body.startswith("{"):
        return None
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return LogReader().half(content)

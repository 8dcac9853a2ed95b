"""Reads Prometheus remote-write 1.0 bodies into the series of each target at each time; joins nothing, stores nothing.

The message is Prometheus' prompb.WriteRequest (prometheus/prompb/remote.proto and types.proto), of which only names,
labels and samples are needed; the rest is skipped by the parser.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Protocol, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from google.protobuf.message import DecodeError

from collector.receivers.series import NAME, Labels
from signals.errors import PayloadError
from signals.records import Target

#: Series that Prometheus adds to every target.
SYNTHETIC = frozenset({
    "up", "scrape_duration_seconds", "scrape_samples_scraped", "scrape_samples_post_metric_relabeling",
    "scrape_series_added", "scrape_timeout_seconds", "scrape_sample_limit", "scrape_body_size_bytes",
})  # fmt: skip
#: Labels of the target, not of the series; the second column is where they go.
TARGET_LABELS = ("instance", "job", "pool", "region", "model_version")


class _Label(Protocol):
    name: str
    value: str


class _Sample(Protocol):
    value: float
    timestamp: int


class _TimeSeries(Protocol):
    labels: list[_Label]
    samples: list[_Sample]


class _WriteRequest(Protocol):
    timeseries: list[_TimeSeries]

    def ParseFromString(self, body: bytes) -> int: ...  # noqa: N802  # protobuf's own name


@dataclass(slots=True)
class TargetPage:
    """The series of one target at one time (Unix ms); `up` is what Prometheus says of the scrape, if it does."""

    target: Target
    time_ms: int
    samples: dict[Labels, float] = field(default_factory=dict)
    up: float | None = None


def read_write_request(body: bytes) -> list[TargetPage]:
    """Return the pages of an uncompressed WriteRequest, ordered by time; PayloadError when it is none."""
    message = _new_request()
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        raise PayloadError(f"body of {len(body)} bytes is no remote-write request: {error}") from error
    pages: dict[tuple[str, int], TargetPage] = {}
    for series in message.timeseries:
        words = {label.name: label.value for label in series.labels}
        name = words.get(NAME)
        if not name:
            continue
        target = _target(words)
        labels = tuple(sorted((key, value) for key, value in words.items() if key not in TARGET_LABELS))
        for sample in series.samples:
            page = pages.get((target.instance, sample.timestamp))
            if page is None:
                page = pages[(target.instance, sample.timestamp)] = TargetPage(target, sample.timestamp)
            if name == "up":
                page.up = sample.value
            elif name not in SYNTHETIC and isfinite(sample.value):
                page.samples[labels] = sample.value
    return sorted(pages.values(), key=lambda page: page.time_ms)


def _target(words: Mapping[str, str]) -> Target:
    return Target(
        words.get("instance") or words.get("job") or "prometheus",
        pool=words.get("pool"),
        region=words.get("region"),
        model_version=words.get("model_version"),
    )


def _new_request() -> _WriteRequest:
    return cast("_WriteRequest", _REQUEST())


def _message_class() -> type:
    """Build prompb.WriteRequest from the three messages that are needed."""
    file = descriptor_pb2.FileDescriptorProto(name="sloscope/remote_write.proto", package="prompb", syntax="proto3")
    text, number, whole, nested = (
        FieldDescriptorProto.TYPE_STRING,
        FieldDescriptorProto.TYPE_DOUBLE,
        FieldDescriptorProto.TYPE_INT64,
        FieldDescriptorProto.TYPE_MESSAGE,
    )
    for message, fields in {
        "Label": (("name", 1, text, ""), ("value", 2, text, "")),
        "Sample": (("value", 1, number, ""), ("timestamp", 2, whole, "")),
        "TimeSeries": (("labels", 1, nested, "Label"), ("samples", 2, nested, "Sample")),
        "WriteRequest": (("timeseries", 1, nested, "TimeSeries"),),
    }.items():
        described = file.message_type.add(name=message)
        for name, place, kind, of in fields:
            repeated = FieldDescriptorProto.LABEL_REPEATED if of else FieldDescriptorProto.LABEL_OPTIONAL
            item = described.field.add(name=name, number=place, type=kind, label=repeated)
            if of:
                item.type_name = f".prompb.{of}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("prompb.WriteRequest"))


_REQUEST = _message_class()

"""Encodes scrapes and host rows as OTLP ResourceMetrics (protobuf); never decides what is sent or when.

A batch is kept in two parts, because one attribute (when it was sent) is only known at the end: the attributes of its
resource, and everything below it. `seal` makes an OTLP export body of any number of batches.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.protobuf import FIXED64, VARINT, Hole, Pattern, Piece, block, hole, key_values, nested, tag, text, varint
from signals import wire
from signals.catalog import unit_of
from signals.readings import Attributes, HistogramIncrement, Increments
from signals.records import HostRows, Identity, Scrape, Target

if TYPE_CHECKING:  # the messages cost memory that the daemon need not spend
    from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics

#: AGGREGATION_TEMPORALITY_DELTA of opentelemetry/proto/metrics/v1/metrics.proto.
DELTA = tag(2, VARINT) + varint(1)
MONOTONIC = tag(3, VARINT) + varint(1)
#: Places of the two times among the values of every pattern.
TIME, START = 0, 1
#: A catalog of layouts larger than this is thrown away and learned anew.
MAX_PATTERNS = 512
#: Rows hold texts that come and go, such as why clocks are held down.
MAX_ROW_PATTERNS = 32

#: Types of text columns: a text, or a list of words.
WORDS = (str, tuple, list)


@dataclass(frozen=True, slots=True)
class Batch:
    """One ResourceMetrics or ResourceSpans: `attributes` of its resource, and the fields beside the resource."""

    attributes: bytes
    rest: bytes

    def sealed(self, sent_at_ns: int | None = None) -> bytes:
        """Return the message as field 1 of an OTLP export request."""
        late = b"" if sent_at_ns is None else key_values(1, {wire.SENT_AT: str(sent_at_ns)})
        return block(1, block(1, self.attributes + late) + self.rest)


def seal(batches: Iterable[Batch], sent_at_ns: int | None = None) -> bytes:
    """Return one OTLP export body."""
    return b"".join(batch.sealed(sent_at_ns) for batch in batches)


@dataclass(slots=True)
class Encoder:
    """Encodes batches; remembers the pattern of each shape of scrape."""

    _patterns: dict[tuple[object, ...], Pattern] = field(default_factory=dict)
    _rows: dict[tuple[object, ...], Pattern] = field(default_factory=dict)
    _attributes: dict[tuple[object, ...], bytes] = field(default_factory=dict)

    def scrape(self, scrape: Scrape) -> Batch:
        """Return the batch of one scrape: all its points share one time, counters are deltas."""
        return Batch(self._about(scrape) + key_values(1, identity_attributes(scrape.identity)), self._points(scrape))

    def rows(self, batch: HostRows) -> Batch:
        """Return the batch of rows: a `.row` point carries the text columns, a point each number."""
        shape: list[object] = []
        values: list[float] = [batch.time_ns, batch.start_ns or 0]
        for view, rows in batch.rows.items():
            for row in rows:
                texts = tuple((name, _words(value)) for name, value in row.items() if isinstance(value, WORDS))
                numbers = {name: value for name, value in row.items() if isinstance(value, int | float)}
                shape.append((view, texts, *numbers))
                values.append(1.0)
                values += numbers.values()
        key = tuple(shape)
        pattern = self._rows.get(key)
        if pattern is None:
            if len(self._rows) >= MAX_ROW_PATTERNS:
                self._rows.clear()
            pattern = self._rows[key] = _rows_pattern(batch.rows)
        attributes = {**identity_attributes(batch.identity), wire.HOST: batch.host}
        return Batch(key_values(1, attributes), pattern.fill(values))

    def _about(self, scrape: Scrape) -> bytes:
        key = (
            scrape.target,
            scrape.state,
            scrape.process_start,
            scrape.error,
            scrape.last_groups,
            *scrape.facts.items(),
        )
        found = self._attributes.get(key)
        if found is None:
            if len(self._attributes) >= MAX_PATTERNS:
                self._attributes.clear()
            found = self._attributes[key] = key_values(1, _scrape_attributes(scrape))
        return found

    def _points(self, scrape: Scrape) -> bytes:
        shape: list[object] = []
        values: list[float] = [scrape.time_ns, scrape.start_ns or 0]
        for found in scrape.increments:
            gauges = [(key, value) for key, value in found.gauges.items() if value is not None]
            shape += (
                found.model,
                found.role,
                tuple(key for key, _ in gauges),
                tuple(found.counters),
                tuple((h.signal, h.attributes, h.edges) for h in found.histograms),
            )
            values += [value for _, value in gauges]
            values += found.counters.values()
            for histogram in found.histograms:
                values += (histogram.count, histogram.sum, *histogram.counts)
        key = tuple(shape)
        pattern = self._patterns.get(key)
        if pattern is None:
            if len(self._patterns) >= MAX_PATTERNS:
                self._patterns.clear()
            pattern = self._patterns[key] = _scrape_pattern(scrape.increments)
        return pattern.fill(values)


def encode_scrape(scrape: Scrape) -> ResourceMetrics:
    """Return the message of one scrape, for readers that want objects instead of bytes."""
    return _message(Encoder().scrape(scrape))


def encode_host_rows(batch: HostRows) -> ResourceMetrics:
    """Return the message of GPU, event, host and instance rows."""
    return _message(host_batch(batch))


def export_request(messages: Iterable[ResourceMetrics]) -> bytes:
    """Return one OTLP export body of messages."""
    return b"".join(block(1, message.SerializeToString()) for message in messages)


def _message(batch: Batch) -> ResourceMetrics:
    from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics as Message

    message = Message()
    message.ParseFromString(block(1, batch.attributes) + batch.rest)
    return message


def host_batch(batch: HostRows) -> Batch:
    """Return the batch of GPU, event, host and instance rows without remembering its pattern."""
    return Encoder().rows(batch)


def identity_attributes(identity: Identity) -> dict[str, str]:
    """Return the resource attributes that name a batch."""
    return {
        wire.AGENT: identity.agent,
        wire.EPOCH: identity.epoch,
        wire.SEQUENCE: str(identity.sequence),
        wire.SCHEMA: wire.SCHEMA_VERSION,
    }


class _Metrics:
    """The metrics of one scope as pieces, in the order in which their names first came."""

    def __init__(self) -> None:
        self._kinds: dict[str, int] = {}
        self._points: dict[str, list[Piece]] = {}

    def up(self, attributes: Attributes, level: float) -> None:
        """Add the point that every group of a scrape has, whatever else is missing."""
        constant = tag(4, FIXED64) + struct.pack("<d", level)
        self._add(wire.UP, 5, [*hole(2, "Q", START), *hole(3, "Q", TIME), constant, key_values(7, attributes)])

    def gauge(self, name: str, attributes: Attributes, place: int) -> None:
        point = [*hole(3, "Q", TIME), *hole(4, "d", place), key_values(7, attributes)]
        self._add(name, 5, point)

    def counter(self, name: str, attributes: Attributes, place: int) -> None:
        point = [*hole(2, "Q", START), *hole(3, "Q", TIME), *hole(4, "d", place), key_values(7, attributes)]
        self._add(name, 7, point)

    def histogram(self, name: str, attributes: Attributes, found: HistogramIncrement, place: int) -> None:
        """Add a histogram whose count, sum and bucket counts are the values from `place` on."""
        buckets: list[Piece] = [Hole("Q", place + 2 + i) for i in range(len(found.counts))]
        bounds = struct.pack(f"<{len(found.edges)}d", *found.edges)
        point = [
            *hole(2, "Q", START),
            *hole(3, "Q", TIME),
            *hole(4, "Q", place),
            tag(5, FIXED64),
            Hole("d", place + 1),
            *nested(6, buckets),
            block(7, bounds),
            key_values(9, attributes),
        ]
        self._add(name, 9, point)

    def _add(self, name: str, kind: int, point: list[Piece]) -> None:
        self._kinds.setdefault(name, kind)
        self._points.setdefault(name, []).extend(nested(1, point))

    def scope(self) -> list[Piece]:
        """Return a ResourceMetrics' scope_metrics field."""
        pieces: list[Piece] = [block(1, text(1, wire.SCOPE))]
        for name, points in self._points.items():
            kind = self._kinds[name]
            extra = {7: DELTA + MONOTONIC, 9: DELTA}.get(kind, b"")
            head = text(1, name) + text(3, unit_of(name.removeprefix(wire.PREFIX)))
            pieces += nested(2, [head, *nested(kind, [*points, extra])])
        return nested(2, pieces)


def _rows_pattern(views: Mapping[str, tuple[Mapping[str, object], ...]]) -> Pattern:
    metrics = _Metrics()
    place = START + 1
    for view, rows in views.items():
        for number, row in enumerate(rows):
            name = (("row", str(number)),)
            texts = tuple((k, _words(v)) for k, v in sorted(row.items()) if isinstance(v, WORDS))
            metrics.gauge(f"{wire.PREFIX}{view}.row", (*name, *texts), place)
            place += 1
            for column, value in row.items():
                if isinstance(value, int | float):
                    metrics.gauge(f"{wire.PREFIX}{view}.{column}", name, place)
                    place += 1
    return Pattern(metrics.scope())


def _scrape_pattern(increments: tuple[Increments, ...]) -> Pattern:
    metrics = _Metrics()
    place = START + 1
    for found in increments:
        metrics.up(_group(found.model, found.role), 1.0)
    if not increments:
        metrics.up((), 0.0)
    for found in increments:
        group = _group(found.model, found.role)
        for (signal, attributes), value in found.gauges.items():
            if value is not None:
                metrics.gauge(wire.PREFIX + signal, group + attributes, place)
                place += 1
        for signal, attributes in found.counters:
            metrics.counter(wire.PREFIX + signal, group + attributes, place)
            place += 1
        for histogram in found.histograms:
            metrics.histogram(wire.PREFIX + histogram.signal, group + histogram.attributes, histogram, place)
            place += 2 + len(histogram.counts)
    return Pattern(metrics.scope())


def _scrape_attributes(scrape: Scrape) -> dict[str, str]:
    attributes = {**_target(scrape.target), wire.SCRAPE_STATE: scrape.state}
    if scrape.error:
        attributes[wire.SCRAPE_ERROR] = scrape.error
    if scrape.process_start is not None:
        attributes[wire.PROCESS_START] = repr(scrape.process_start)
    if scrape.last_groups:
        attributes[wire.LAST_GROUPS] = json.dumps(scrape.last_groups)
    attributes.update({wire.FACT + name: value for name, value in scrape.facts.items()})
    return attributes


def _group(model: str | None, role: str | None) -> Attributes:
    found = []
    if model is not None:
        found.append((wire.POINT_MODEL, model))
    if role is not None:
        found.append((wire.POINT_ROLE, role))
    return tuple(found)


def _target(target: Target) -> Mapping[str, str]:
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


def _words(value: object) -> str:
    return value if isinstance(value, str) else ",".join(str(item) for item in value)  # type: ignore[attr-defined]  # a sequence of words

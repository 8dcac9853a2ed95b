"""Learns where the numbers of an agent's ResourceMetrics stand: everything else in its bytes is constant.

An agent's points hold times, values and counts in eight bytes each, so the metrics of a target that keeps its signals
keep their length and differ in these places only. A layout is learned by walking one message, and compared with the
general decoder's result before it is used.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from collector.receivers.wirewalk import BYTES, FIXED64, VARINT, Field, fields, varint
from collector.store.batch import ColumnGroup, Key
from signals import wire
from signals.errors import PayloadError
from signals.readings import Attributes

Offsets = npt.NDArray[np.intp]
#: Field numbers of opentelemetry/proto/metrics/v1/metrics.proto.
GAUGE, SUM, HISTOGRAM = 5, 7, 9
#: Of one ResourceMetrics in a body: (resource begin, resource end, rest begin, rest end).
Part = tuple[int, int, int, int]


class UnlearnableError(PayloadError):
    """A message that is fine, and that no layout describes."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """`length` bytes of which `holes` change; the offsets are of eight-byte numbers from the start of the bytes."""

    length: int
    template: npt.NDArray[np.uint64]
    mask: npt.NDArray[np.uint64]
    times: Offsets
    starts: Offsets
    numbers: Offsets
    counts: Offsets
    groups: tuple[ColumnGroup, ...]

    def matches(self, rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        """Return for each row (padded to whole words) whether its constant bytes are this layout's."""
        words = rows.view(np.uint64)
        return np.asarray(~(((words ^ self.template) & self.mask).any(axis=1)))


@dataclass(slots=True)
class _Group:
    gauges: dict[Key, int] = field(default_factory=dict)
    counters: dict[Key, int] = field(default_factory=dict)
    histograms: list[tuple[str, Attributes, tuple[float, ...], int, int]] = field(default_factory=list)


@dataclass(slots=True)
class _Learner:
    """Collects offsets while it walks the fields beside the resource."""

    body: bytes
    times: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    groups: dict[tuple[str | None, str | None], _Group] = field(default_factory=dict)

    def metrics(self) -> None:
        for number, kind, place, end in fields(self.body, 0, len(self.body)):
            if number == 2 and kind == BYTES:
                for inner, inner_kind, at, stop in fields(self.body, place, end):
                    if inner == 2 and inner_kind == BYTES:
                        self._metric(at, stop)

    def _metric(self, place: int, end: int) -> None:
        name = ""
        data: list[Field] = []
        for found in fields(self.body, place, end):
            if found[0] == 1 and found[1] == BYTES:
                name = self.body[found[2] : found[3]].decode()
            elif found[0] in {GAUGE, SUM, HISTOGRAM} and found[1] == BYTES:
                data.append(found)
            elif found[0] not in {2, 3}:
                raise UnlearnableError(f"field {found[0]} of a metric")
        if len(data) != 1:
            raise UnlearnableError(f"{name} has {len(data)} kinds of data")
        kind, _, start, stop = data[0]
        for number, wire_type, at, until in fields(self.body, start, stop):
            if number == 1 and wire_type == BYTES:
                self._point(name, kind, at, until)
            elif number not in {2, 3} or wire_type != VARINT:
                raise UnlearnableError(f"field {number} of {name}")

    def _point(self, name: str, kind: int, place: int, end: int) -> None:
        attributes: dict[str, str] = {}
        parts: dict[int, tuple[int, int]] = {}
        attribute_field = 9 if kind == HISTOGRAM else 7
        for number, wire_type, at, until in fields(self.body, place, end):
            if number == attribute_field and wire_type == BYTES:
                key, value = self._pair(at, until)
                attributes[key] = value
            elif number in parts:
                raise UnlearnableError(f"{name}: field {number} twice")
            else:
                if wire_type != (BYTES if kind == HISTOGRAM and number in {6, 7} else FIXED64):
                    raise UnlearnableError(f"{name}: field {number} of wire type {wire_type}")
                parts[number] = (at, until)
        group_name = (attributes.pop(wire.POINT_MODEL, None), attributes.pop(wire.POINT_ROLE, None))
        group = self.groups.setdefault(group_name, _Group())
        signal = name.removeprefix(wire.PREFIX)
        self._times(name, parts)
        sorted_attributes = tuple(sorted(attributes.items()))
        if kind == HISTOGRAM:
            self._histogram(group, signal, sorted_attributes, parts)
        elif name == wire.UP:
            if set(parts) - {2, 3, 4}:
                raise UnlearnableError(f"{name}: fields {sorted(parts)}")
        else:
            self._number(group, kind, (signal, sorted_attributes), parts)

    def _times(self, name: str, parts: dict[int, tuple[int, int]]) -> None:
        if 3 not in parts:
            raise UnlearnableError(f"{name}: a point without a time")
        self.times.append(parts[3][0])
        if 2 in parts:
            self.starts.append(parts[2][0])

    def _number(self, group: _Group, kind: int, key: Key, parts: dict[int, tuple[int, int]]) -> None:
        table = group.counters if kind == SUM else group.gauges
        if set(parts) - {2, 3, 4} or 4 not in parts or key in table:
            raise UnlearnableError(f"{key[0]}: fields {sorted(parts)}")
        table[key] = len(self.numbers)
        self.numbers.append(parts[4][0])

    def _histogram(self, group: _Group, signal: str, attributes: Attributes, parts: dict[int, tuple[int, int]]) -> None:
        if not {4, 5, 6} <= set(parts) <= {2, 3, 4, 5, 6, 7}:
            raise UnlearnableError(f"{signal}: fields {sorted(parts)}")
        begin, end = parts.get(7, (0, 0))
        first, last = parts[6]
        edges = struct.unpack(f"<{(end - begin) // 8}d", self.body[begin : begin + (end - begin) // 8 * 8])
        rising = all(a < b for a, b in pairwise(edges))
        if (last - first) != 8 * (len(edges) + 1) or (end - begin) % 8 or not rising:
            raise UnlearnableError(f"{signal}: {(last - first) / 8:g} buckets for {len(edges)} edges")
        group.histograms.append((signal, attributes, edges, len(self.numbers), len(self.counts)))
        self.numbers.append(parts[5][0])
        self.counts.append(parts[4][0])
        self.counts.extend(range(first, last, 8))

    def _pair(self, place: int, end: int) -> tuple[str, str]:
        key, value = "", None
        for number, kind, at, until in fields(self.body, place, end):
            if number == 1 and kind == BYTES:
                key = self.body[at:until].decode()
            elif number == 2 and kind == BYTES:
                for inner, inner_kind, start, stop in fields(self.body, at, until):
                    if inner != 1 or inner_kind != BYTES:
                        raise UnlearnableError(f"attribute {key} is no text")
                    value = self.body[start:stop].decode()
        if value is None:
            raise UnlearnableError(f"attribute {key} has no value")
        return key, value


def learn(body: bytes) -> Layout:
    """Return the layout of the fields beside the resource; UnlearnableError when there is none."""
    learner = _Learner(body)
    try:
        learner.metrics()
    except UnicodeDecodeError as error:
        raise UnlearnableError(f"a name is no UTF-8: {error.reason}") from error
    groups = tuple(_column_group(*name, group) for name, group in learner.groups.items())
    if not learner.numbers:
        raise UnlearnableError("nothing but the sign of life")
    words = (len(body) + 7) // 8
    template = np.zeros(words * 8, dtype=np.uint8)
    template[: len(body)] = np.frombuffer(body, dtype=np.uint8)
    mask = np.full(words * 8, 0xFF, dtype=np.uint8)
    for offset in (*learner.times, *learner.starts, *learner.numbers, *learner.counts):
        mask[offset : offset + 8] = 0
    return Layout(
        len(body),
        template.view(np.uint64),
        mask.view(np.uint64),
        np.array(learner.times, dtype=np.intp),
        np.array(learner.starts, dtype=np.intp),
        np.array(learner.numbers, dtype=np.intp),
        np.array(learner.counts, dtype=np.intp),
        groups,
    )


def _column_group(model: str | None, role: str | None, found: _Group) -> ColumnGroup:
    return ColumnGroup(
        model,
        role,
        tuple(found.gauges),
        tuple(found.gauges.values()),
        tuple(found.counters),
        tuple(found.counters.values()),
        tuple((signal, attributes, edges) for signal, attributes, edges, _, _ in found.histograms),
        tuple(sum_at for *_, sum_at, _ in found.histograms),
        tuple(count_at for *_, count_at in found.histograms),
    )


def parts_of(body: bytes) -> list[Part]:
    """Return where each ResourceMetrics of an export body stands; PayloadError when the body is damaged.

    A message whose resource is not its first and only one has an empty resource here, and all of it is the rest.
    """
    found: list[Part] = []
    place, end = 0, len(body)
    while place < end:
        key = body[place]
        if key != _RESOURCE_METRICS:
            place = _skip(body, place, end)
            continue
        size, place = varint(body, place + 1, end)
        stop = place + size
        if stop > end:
            raise PayloadError(f"a ResourceMetrics of {size} bytes at byte {place} of {end}")
        found.append(_split(body, place, stop))
        place = stop
    return found


#: Tags (field number, wire type) of one byte: ExportMetricsServiceRequest.resource_metrics, ResourceMetrics.resource.
_RESOURCE_METRICS = _RESOURCE = 1 << 3 | BYTES


def _split(body: bytes, place: int, stop: int) -> Part:
    if stop > place and body[place] == _RESOURCE:
        size, begin = varint(body, place + 1, stop)
        end = begin + size
        if end == stop or (end < stop and body[end] != _RESOURCE):
            return begin, end, end, stop
    return place, place, place, stop


def _skip(body: bytes, place: int, end: int) -> int:
    """Return where the field at `place` ends: one that this version does not know."""
    return next(iter(fields(body, place, end)))[3]

"""Decodes agents' metrics straight into column arrays by learned layouts; what no layout fits goes the general way.

For every message: the bytes beside its resource are compared with a known layout word by word, then times, values and
counts are gathered for all messages of the layout at once. The general decoder is the oracle: a new layout must give
what it gives.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from math import isfinite

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError
from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics

from collector.receivers.checks import FIRST_NS, LAST_NS, MAX_COUNT
from collector.receivers.decode import decode_resource
from collector.receivers.layout import Layout, Part, UnlearnableError, learn, parts_of
from collector.receivers.sources import Sources, sent_at
from collector.store.batch import ColumnBatch, ColumnGroup, Source
from signals.errors import InputError, PayloadError
from signals.readings import HistogramIncrement, Increments
from signals.records import Identity, Scrape

#: Layouts kept, over all lengths; the one unused longest is forgotten.
MAX_LAYOUTS = 512
#: Lengths that were tried and are not worth another attempt.
MAX_REFUSED = 4_096
#: Longest message that a layout is learned of.
MAX_LENGTH = 1 << 20


@dataclass(slots=True)
class Split:
    """What became of one body: scrapes in columns, and where the messages stand that the general decoder must read."""

    batches: list[ColumnBatch] = field(default_factory=list)
    others: list[Part] = field(default_factory=list)
    fast: int = 0
    sent_at_ns: int | None = None


class ColumnDecoder:
    """Remembers layouts and sources. Not safe from several threads at once."""

    def __init__(self) -> None:
        self._layouts: OrderedDict[int, list[Layout]] = OrderedDict()
        self._count = 0
        self._refused: OrderedDict[int, int] = OrderedDict()
        self._sources = Sources()

    def decode(self, body: bytes) -> Split:
        """Return the columns of an export body. PayloadError when it is no protobuf message."""
        split = Split()
        waiting: dict[int, list[tuple[Source, int, int, int]]] = {}
        parts = parts_of(body)
        if parts:
            split.sent_at_ns = sent_at(body[parts[0][0] : parts[0][1]])
        for resource, resource_end, rest, end in parts:
            known = self._sources.of(body[resource:resource_end]) if resource_end > resource else None
            if known is None or known[0].state not in {"ok", "frozen"} or known[0].last_groups:
                split.others.append((resource, resource_end, rest, end))
            else:
                waiting.setdefault(end - rest, []).append((*known, rest, resource))
        for length, messages in waiting.items():
            self._gather(body, length, messages, split)
        return split

    def _gather(self, body: bytes, length: int, messages: list[tuple[Source, int, int, int]], split: Split) -> None:
        """Take all messages of one length: by the layouts of that length, learning new ones as they come."""
        rows = np.zeros((len(messages), (length + 7) // 8 * 8), dtype=np.uint8)
        flat = np.frombuffer(body, dtype=np.uint8)
        for row, (_, _, rest, _) in zip(rows, messages, strict=True):
            row[:length] = flat[rest : rest + length]
        left = np.arange(len(messages))
        for layout in list(self._layouts.get(length, ())):
            if not len(left):
                break
            hits = layout.matches(rows[left])
            left = self._take(layout, rows, messages, left, hits, split)
        while len(left):
            place = int(left[0])
            source, sequence, rest, resource = messages[place]
            learned = self._learn(body, source, sequence, resource, rest, length)
            if learned is None:
                split.others.append((resource, rest, rest, rest + length))
                left = left[1:]
                continue
            left = self._take(learned, rows, messages, left, learned.matches(rows[left]), split)

    def _take(
        self,
        layout: Layout,
        rows: npt.NDArray[np.uint8],
        messages: list[tuple[Source, int, int, int]],
        left: npt.NDArray[np.intp],
        hits: npt.NDArray[np.bool_],
        split: Split,
    ) -> npt.NDArray[np.intp]:
        """Add the rows that match; return the ones that do not."""
        if not hits.any():
            return left
        taken = left[hits]
        batch, sound = _columns(layout, rows[taken] if len(taken) < len(rows) else rows, taken, messages)
        if sound.all():
            split.batches.append(batch)
        else:
            if sound.any():
                split.batches.append(batch.take(np.flatnonzero(sound).tolist()))
            for place in taken[~sound].tolist():
                _, _, rest, resource = messages[place]
                split.others.append((resource, rest, rest, rest + layout.length))
        split.fast += int(sound.sum())
        return left[~hits]

    def _learn(
        self, body: bytes, source: Source, sequence: int, resource: int, rest: int, length: int
    ) -> Layout | None:
        """Return the new layout of one message, or None where none describes it as the general decoder reads it."""
        if length > MAX_LENGTH or self._refused.get(length, 0) >= 3:
            return None
        try:
            layout = learn(body[rest : rest + length])
            if not self._agrees(layout, body, source, sequence, resource, rest):
                raise UnlearnableError("the general decoder reads something else")
        except InputError:
            self._refused[length] = self._refused.get(length, 0) + 1
            if len(self._refused) > MAX_REFUSED:
                self._refused.popitem(last=False)
            return None
        self._layouts.setdefault(length, []).insert(0, layout)
        self._layouts.move_to_end(length)
        self._count += 1
        while self._count > MAX_LAYOUTS:
            self._count -= len(self._layouts.popitem(last=False)[1])
        return layout

    def _agrees(self, layout: Layout, body: bytes, source: Source, sequence: int, resource: int, rest: int) -> bool:
        rows = np.zeros((1, (layout.length + 7) // 8 * 8), dtype=np.uint8)
        rows[0, : layout.length] = np.frombuffer(body, dtype=np.uint8, count=layout.length, offset=rest)
        batch, sound = _columns(layout, rows, np.array([0]), [(source, sequence, rest, resource)])
        if not sound[0]:
            return False
        wanted = decode_resource(message_at(body, (resource, rest, rest, rest + layout.length)))
        return repr(scrapes_of(batch)[0]) == repr(wanted)


def _columns(
    layout: Layout,
    rows: npt.NDArray[np.uint8],
    taken: npt.NDArray[np.intp],
    messages: list[tuple[Source, int, int, int]],
) -> tuple[ColumnBatch, npt.NDArray[np.bool_]]:
    """Return the numbers of rows that match a layout, and which rows are believable (see `checks`)."""
    width = rows.shape[1]
    reals: npt.NDArray[np.float64] = np.ndarray((len(rows), width - 7), "<f8", buffer=rows.data, strides=(width, 1))
    wholes: npt.NDArray[np.int64] = np.ndarray((len(rows), width - 7), "<i8", buffer=rows.data, strides=(width, 1))
    times, starts = wholes[:, layout.times], wholes[:, layout.starts]
    time_ns = times[:, -1].copy()
    start_ns = starts[:, 0].copy() if starts.shape[1] else np.zeros(len(rows), dtype=np.int64)
    counts = wholes[:, layout.counts]
    sound = (times == time_ns[:, None]).all(axis=1) & (time_ns >= FIRST_NS) & (time_ns < LAST_NS)
    sound &= (starts == start_ns[:, None]).all(axis=1)
    sound &= (start_ns == 0) | ((start_ns >= FIRST_NS) & (start_ns <= time_ns))
    sound &= ((counts >= 0) & (counts <= MAX_COUNT)).all(axis=1)
    places = taken.tolist()
    batch = ColumnBatch(
        tuple(messages[place][0] for place in places),
        np.array([messages[place][1] for place in places], dtype=np.int64),
        time_ns,
        start_ns,
        layout.groups,
        reals[:, layout.numbers],
        counts,
    )
    return batch, sound


def scrapes_of(batch: ColumnBatch) -> list[Scrape]:
    """Return the scrapes of a batch as records: for tests and for whoever wants objects."""
    found = []
    for row, source in enumerate(batch.sources):
        numbers = batch.numbers[row].tolist()
        counts = batch.counts[row].tolist()
        start = int(batch.start_ns[row])
        found.append(
            Scrape(
                Identity(source.agent, source.epoch, int(batch.sequences[row])),
                source.target,
                int(batch.time_ns[row]),
                start or None,
                source.state,
                tuple(_increments(group, numbers, counts) for group in batch.groups),
                source.last_groups,
                source.facts,
                source.process_start,
                source.error,
            )
        )
    return found


def _increments(group: ColumnGroup, numbers: list[float], counts: list[int]) -> Increments:
    gauges = {
        key: numbers[at] if isfinite(numbers[at]) else None
        for key, at in zip(group.gauges, group.gauge_at, strict=True)
    }
    counters = {
        key: numbers[at] for key, at in zip(group.counters, group.counter_at, strict=True) if isfinite(numbers[at])
    }
    histograms = tuple(
        HistogramIncrement(
            signal,
            attributes,
            edges,
            tuple(counts[count_at + 1 : count_at + 2 + len(edges)]),
            numbers[sum_at],
            counts[count_at],
        )
        for (signal, attributes, edges), sum_at, count_at in zip(
            group.histograms, group.sum_at, group.count_at, strict=True
        )
    )
    moved = any(value > 0 for value in counters.values())
    return Increments(group.model, group.role, gauges, counters, histograms, 0, moved)


def message_at(body: bytes, part: Part) -> ResourceMetrics:
    """Return one ResourceMetrics as a message, for the general decoder; PayloadError when it is damaged."""
    resource, resource_end, rest, end = part
    message = ResourceMetrics()
    try:
        if resource_end > resource:
            message.resource.ParseFromString(body[resource:resource_end])
        message.MergeFromString(body[rest:end])
    except DecodeError as error:
        raise PayloadError(f"a ResourceMetrics of {end - resource} bytes is damaged: {error}") from error
    return message

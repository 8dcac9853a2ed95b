"""What one page says in canonical words, and how two successive pages become increments; pure.

A reading holds cumulative values as the engine prints them. `advance` turns it into what happened since the last
one: per-series reset detection, the very first reading contributes nothing, NaN is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, nan
from operator import sub

#: From the recorded runs: a busy engine on a slow machine stood still for two 2-s scrapes, never for three.
FROZEN_AFTER_SCRAPES = 3

#: Counters that move without the engine's loop: a dead loop still answers and refuses.
OUTSIDE_THE_LOOP = frozenset({"http_requests", "rejected", "worker_errors"})
#: Vanished series whose last value is remembered; gateways forget idle tenants by the hour.
MAX_ABSENT = 20_000

#: Attributes of a canonical point, sorted (name, value) pairs.
Attributes = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Counter:
    """A canonical counter: the places of its raw series in `Reading.values`, added up and scaled."""

    signal: str
    attributes: Attributes
    places: tuple[int, ...]
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Histogram:
    """A canonical histogram over `edges` (upper, inclusive, without +Inf), one row of places per raw series.

    `buckets[r][i]` is the place of the cumulative count up to edge i, the last one of +Inf. `sums` and `counts` are
    the places of `_sum` and `_count`; `edges` and sums are in base units, `scale` turns raw sums into them.
    """

    signal: str
    attributes: Attributes
    edges: tuple[float, ...]
    buckets: tuple[tuple[int, ...], ...]
    sums: tuple[int, ...]
    counts: tuple[int, ...]
    sum_as: str | None = None
    count_as: str | None = None
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Shape:
    """What the cumulative values of one (model, role) mean; shared by all readings of an unchanged page."""

    model: str | None
    role: str | None
    keys: tuple[str, ...]
    counters: tuple[Counter, ...]
    histograms: tuple[Histogram, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """One (model, role) on one page: gauges as they are (None = missing), cumulative values to be advanced."""

    shape: Shape
    gauges: Mapping[tuple[str, Attributes], float | None]
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class PageReading:
    """A whole page in canonical words."""

    engine: str
    engine_version: str | None
    process_start: float | None
    readings: tuple[Reading, ...]
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HistogramIncrement:
    """Observations since the last reading: `counts[i]` in (edges[i-1], edges[i]], the last one above all edges."""

    signal: str
    attributes: Attributes
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    sum: float
    count: int


@dataclass(frozen=True, slots=True)
class Increments:
    """What happened to one (model, role) since the last reading; counters are empty on the very first one."""

    model: str | None
    role: str | None
    gauges: Mapping[tuple[str, Attributes], float | None]
    counters: Mapping[tuple[str, Attributes], float]
    histograms: tuple[HistogramIncrement, ...]
    resets: int = 0
    moved: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """The last cumulative values of one target: by group, then by series key; serialisable as plain data."""

    process_start: float | None = None
    groups: Mapping[tuple[str | None, str | None], tuple[tuple[str, ...], Sequence[float]]] = field(
        default_factory=dict
    )
    #: Series that were on an earlier page of this process and are not on the last one.
    absent: Mapping[str, float] = field(default_factory=dict)
    #: Scrapes in a row in which requests were running and no cumulative value moved.
    still: int = 0

    @property
    def frozen(self) -> bool:
        """Whether the gauges are stale: a slow step stands still for a scrape or two, a dead loop for ever."""
        return self.still >= FROZEN_AFTER_SCRAPES


def advance(state: State | None, page: PageReading) -> tuple[State, tuple[Increments, ...]]:
    """Return the new state and the increments since `state` (None: nothing was ever read).

    A series whose value fell, or any series after the process restarted, contributes its whole value. A series that
    appears on a target already known contributes its whole value too: it was absent because it was zero.
    """
    first = state is None
    known = state or State()
    restarted = (
        known.process_start is not None
        and page.process_start is not None
        and abs(known.process_start - page.process_start) > 1.0
    )
    absent = {} if restarted else dict(known.absent)
    groups = {}
    results = []
    everywhere: dict[str, float] | None = None
    for reading in page.readings:
        shape = reading.shape
        group = (shape.model, shape.role)
        last_keys, last_values = known.groups.get(group, ((), ()))
        if group not in known.groups and known.groups and not restarted:
            # A page that only now names its model: its series are known under another group.
            if everywhere is None:
                everywhere = {k: v for keys, held in known.groups.values() for k, v in zip(keys, held, strict=True)}
            last_keys, last_values = tuple(everywhere), tuple(everywhere.values())
        deltas, kept, resets = _deltas(shape.keys, reading.values, last_keys, last_values, absent, restarted)
        groups[group] = (
            shape.keys,
            [value if _is_count(value) else nan for value in reading.values] if first else kept,
        )
        results.append(_increments(reading, deltas if not first else None, resets))
    for group, (keys, values) in known.groups.items():
        if restarted or groups.get(group, ((), ()))[0] is keys:
            continue
        present = set(groups.get(group, ((), ()))[0])
        absent.update((key, value) for key, value in zip(keys, values, strict=True) if key not in present)
    for keys, _ in groups.values():
        if absent:
            for key in keys:
                absent.pop(key, None)
    while len(absent) > MAX_ABSENT:
        del absent[next(iter(absent))]
    still = known.still + 1 if _stands_still(results, first) else 0
    return State(page.process_start, groups, absent, still), tuple(results)


def _stands_still(increments: Sequence[Increments], first: bool) -> bool:
    running = any((found.gauges.get(("running", ())) or 0.0) > 0 for found in increments)
    return running and not first and not any(found.moved for found in increments)


def _deltas(
    keys: tuple[str, ...],
    values: Sequence[float],
    last_keys: tuple[str, ...],
    last_values: Sequence[float],
    absent: Mapping[str, float],
    restarted: bool,
) -> tuple[list[float], list[float], int]:
    """Return (increase of each series, values to remember, number of resets)."""
    if restarted:
        previous: Sequence[float] = [0.0] * len(keys)
    elif keys is last_keys or keys == last_keys:
        previous = last_values
    else:
        known = dict(zip(last_keys, last_values, strict=True))
        previous = [known.get(key, absent.get(key, 0.0)) for key in keys]
    deltas = list(map(sub, values, previous))
    if not deltas or (isfinite(sum(deltas)) and min(deltas) >= 0):
        return deltas, list(values), int(restarted)
    deltas = []
    kept = []
    resets = int(restarted)
    for value, last in zip(values, previous, strict=True):
        if not _is_count(value):
            deltas.append(0.0)
            kept.append(last)
            continue
        if not isfinite(last):  # the very first value was no number: what came before is not known
            deltas.append(0.0)
            kept.append(value)
            continue
        if value < last:
            resets += 1
            deltas.append(value)
        else:
            deltas.append(value - last)
        kept.append(value)
    return deltas, kept, resets


def _is_count(value: float) -> bool:
    """Return whether a cumulative value can be one: NaN, infinity and the sentinel -1 are not."""
    return isfinite(value) and value >= 0


def _increments(reading: Reading, deltas: list[float] | None, resets: int) -> Increments:
    shape = reading.shape
    if deltas is None:
        return Increments(shape.model, shape.role, reading.gauges, {}, ())
    counters: dict[tuple[str, Attributes], float] = {}
    for counter in shape.counters:
        name = (counter.signal, counter.attributes)
        counters[name] = counters.get(name, 0.0) + sum(deltas[place] for place in counter.places) * counter.scale
    histograms = []
    for histogram in shape.histograms:
        increment = _histogram_increment(histogram, deltas)
        histograms.append(increment)
        for name_as, amount in ((histogram.sum_as, increment.sum), (histogram.count_as, float(increment.count))):
            if name_as is not None:
                name = (name_as, histogram.attributes)
                counters[name] = counters.get(name, 0.0) + amount
    return Increments(
        shape.model, shape.role, reading.gauges, counters, tuple(histograms), resets, _moved(counters, histograms)
    )


def _moved(counters: Mapping[tuple[str, Attributes], float], histograms: Sequence[HistogramIncrement]) -> bool:
    return any(amount > 0 and name not in OUTSIDE_THE_LOOP for (name, _), amount in counters.items()) or any(
        found.count > 0 for found in histograms
    )


def _histogram_increment(histogram: Histogram, deltas: list[float]) -> HistogramIncrement:
    if histogram.counts and not any(deltas[place] for place in histogram.counts):
        nothing = (0,) * (len(histogram.edges) + 1)
        return HistogramIncrement(histogram.signal, histogram.attributes, histogram.edges, nothing, 0.0, 0)
    if len(histogram.buckets) == 1:
        cumulative = [deltas[place] for place in histogram.buckets[0]]
    else:
        cumulative = [sum([deltas[row[i]] for row in histogram.buckets]) for i in range(len(histogram.edges) + 1)]
    counts = []
    below = 0.0
    for total in cumulative:
        counts.append(max(0, round(total - below)))
        below = max(below, total)
    return HistogramIncrement(
        histogram.signal,
        histogram.attributes,
        histogram.edges,
        tuple(counts),
        sum(deltas[place] for place in histogram.sums) * histogram.scale,
        round(sum(deltas[place] for place in histogram.counts)),
    )

"""Turns raw engine series of any sender (remote-write, OTLP) into scrapes, through the dialects that pages go through.

Series carry cumulative values; the last ones of each target are kept here. The first page of a target only sets them,
so a restart of the collector costs one interval and never counts anything twice.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from signals.dialects.reader import PageReader
from signals.dialects.registry import detect
from signals.errors import InputError, TooLargeError
from signals.pages import Layout, Page, Series
from signals.readings import Increments, State, advance
from signals.records import FAILED, FROZEN, OK, Identity, Scrape, Target

#: Sorted (label, value) pairs; the metric's name is the label `__name__`.
Labels = tuple[tuple[str, str], ...]
NAME = "__name__"
#: Targets remembered at once; the one unseen longest is forgotten.
MAX_TARGETS = 5_000
#: Series of one target; an engine has 200 to 1,200.
MAX_SERIES = 20_000
MAX_LAYOUTS = 512


@dataclass(slots=True)
class _Known:
    """What is remembered of one target."""

    reader: PageReader | None
    state: State | None = None
    last_ns: int = 0
    start_ns: int | None = None
    groups: tuple[tuple[str | None, str | None], ...] = ()
    born_ns: int = 0
    first: dict[Labels, float] = field(default_factory=dict)
    seen: set[Labels] = field(default_factory=set)


class SeriesTargets:
    """The targets of all senders by (sender, instance); not safe from several threads at once.

    `oldest_ns` says from which time on the ledger can tell a scrape from its retry; older ones are refused.
    """

    def __init__(self, oldest_ns: Callable[[], int] = lambda: 0) -> None:
        self._oldest_ns = oldest_ns
        self._targets: OrderedDict[tuple[str, str], _Known] = OrderedDict()
        self._layouts: OrderedDict[tuple[Labels, ...], Layout] = OrderedDict()

    def scrape(
        self, sender: str, target: Target, time_ns: int, samples: Mapping[Labels, float], from_zero: bool = False
    ) -> Scrape | None:
        """Return the scrape of a target's series at one time; None when no engine speaks like them or all is known.

        `from_zero`: the values were deltas that were added up since their sender started, so the first ones count.
        Raise InputError for a time before the last one, of which no increments can be known.
        """
        if time_ns < self._oldest_ns():
            age = (self._oldest_ns() - time_ns) / 3.6e12
            raise InputError(f"{target.instance}: series {age:.1f} h older than what is told from a retry")
        known = self._remember(sender, target, samples, from_zero)
        if known.reader is None:
            return None
        if time_ns < known.last_ns:
            raise InputError(
                f"{target.instance}: series older than the last ones by {(known.last_ns - time_ns) / 1e9:g} s"
            )
        if time_ns > known.last_ns:
            known.seen.clear()
            known.start_ns = known.last_ns or None
            known.last_ns = time_ns
        fresh = {labels: value for labels, value in samples.items() if labels not in known.seen}
        if not fresh:
            return None
        known.seen.update(fresh)
        return self._advance(sender, target, time_ns, known, fresh)

    def failed(self, sender: str, target: Target, time_ns: int, why: str) -> Scrape | None:
        """Return the failed scrape of a target that is known to speak a dialect."""
        known = self._targets.get((sender, target.instance))
        if known is None or known.reader is None or time_ns <= max(known.last_ns, self._oldest_ns() - 1):
            return None
        start, known.last_ns = known.last_ns, time_ns
        described = _described(target, known.reader, None)
        identity = Identity(f"{sender}/{target.instance}", "down", time_ns // 1_000_000)
        return Scrape(identity, described, time_ns, start or None, FAILED, (), known.groups, {}, None, why)

    def forget(self, instance: str) -> None:
        """Forget the last values of an instance, whoever sent them."""
        for key in [key for key in self._targets if key[1] == instance]:
            del self._targets[key]

    def page(self, samples: Mapping[Labels, float]) -> Page:
        """Return series as a page; the layout of a repeated set of series is the same object."""
        names = tuple(sorted(samples))
        layout = self._layouts.get(names)
        if layout is None:
            layout = _layout(names)
            self._layouts[names] = layout
            if len(self._layouts) > MAX_LAYOUTS:
                self._layouts.popitem(last=False)
        else:
            self._layouts.move_to_end(names)
        return Page(layout, [samples[name] for name in names])

    def _remember(self, sender: str, target: Target, samples: Mapping[Labels, float], from_zero: bool) -> _Known:
        if len(samples) > MAX_SERIES:
            raise TooLargeError(f"{target.instance}: {len(samples)} series are over the limit of {MAX_SERIES}")
        key = (sender, target.instance)
        known = self._targets.get(key)
        if known is None or known.reader is None:
            dialect = detect(self.page(samples).layout)
            reader = None if dialect is None else PageReader(dialect, target.model, target.role)
            known = _Known(reader, State() if from_zero else None)
            self._targets[key] = known
            if len(self._targets) > MAX_TARGETS:
                self._targets.popitem(last=False)
        self._targets.move_to_end(key)
        return known

    def _advance(
        self, sender: str, target: Target, time_ns: int, known: _Known, samples: Mapping[Labels, float]
    ) -> Scrape:
        assert known.reader is not None
        if known.state is None:
            known.born_ns = time_ns
        if time_ns == known.born_ns:  # further parts of the first page set the start, they are no increase
            known.first.update(samples)
            reading = known.reader.read(self.page(known.first))
            known.state, increments = advance(None, reading)
        else:
            known.first.clear()
            reading = known.reader.read(self.page(samples))
            known.state, increments = advance(known.state, reading)
        known.groups = tuple((found.model, found.role) for found in increments)
        return Scrape(
            _identity(sender, target, time_ns, samples),
            _described(target, known.reader, reading.engine_version),
            time_ns,
            known.start_ns,
            FROZEN if known.state.frozen else OK,
            tuple(_without_nan(found) for found in increments),
            (),
            reading.facts,
            reading.process_start,
        )


def labels_of(name: str, labels: Mapping[str, str]) -> Labels:
    """Return the sorted labels of a series."""
    return tuple(sorted({**labels, NAME: name}.items()))


def _layout(names: Sequence[Labels]) -> Layout:
    buckets = {
        value.removesuffix("_bucket")
        for labels in names
        for key, value in labels
        if key == NAME and value.endswith("_bucket")
    }
    series = tuple(_series(labels, buckets) for labels in names)
    keys = tuple(found.key for found in series)
    return Layout(
        keys=keys,
        heads=(),
        sample_lines=tuple(range(len(keys))),
        tails=(),
        pick=_no_lines,
        series=series,
        errors=(),
        kinds={},
        cacheable=True,
    )


def _no_lines(lines: list[str]) -> tuple[str, ...]:
    """Return nothing: these pages were never text."""
    del lines
    return ()


def _series(labels: Labels, histograms: set[str]) -> Series:
    words = dict(labels)
    name = words.pop(NAME, "")
    family, kind = name, "counter" if name.endswith("_total") else "untyped"
    for suffix in ("_bucket", "_sum", "_count"):
        if name.endswith(suffix) and name.removesuffix(suffix) in histograms:
            family, kind = name.removesuffix(suffix), "histogram"
    try:
        le = float(words["le"]) if "le" in words else None
    except ValueError:
        le = None
    key = f"{name}{{{','.join(f'{label}={value}' for label, value in sorted(words.items()))}}}"
    return Series(key, name, words, kind, family, le)


def _identity(sender: str, target: Target, time_ns: int, samples: Mapping[Labels, float]) -> Identity:
    """Return a name that a resent page has again: who, which series, and when (ms, as senders have it)."""
    shape = hashlib.blake2b(repr(sorted(samples)).encode(), digest_size=8).hexdigest()
    return Identity(f"{sender}/{target.instance}", shape, time_ns // 1_000_000)


def _described(target: Target, reader: PageReader, version: str | None) -> Target:
    return Target(
        target.instance,
        target.engine or reader.dialect.engine,
        target.model,
        target.role,
        target.engine_version or version,
        target.model_version,
        target.pool,
        target.region,
        target.host,
        target.gpus,
    )


def _without_nan(found: Increments) -> Increments:
    gauges = {name: value if value is not None and isfinite(value) else None for name, value in found.gauges.items()}
    return Increments(found.model, found.role, gauges, found.counters, found.histograms, found.resets, found.moved)

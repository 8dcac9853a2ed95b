"""Adds increments up again, for receivers that want cumulative values; never forgets a target that is still there."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from signals.readings import Attributes, Increments
from signals.records import FAILED, GONE, Scrape, Target

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Running:
    """A histogram so far: counts per bucket (not cumulative over edges), sum and count."""

    edges: tuple[float, ...]
    counts: list[int]
    sum: float = 0.0
    count: int = 0


@dataclass(slots=True)
class Account:
    """One target's signals so far: by (signal, labels)."""

    target: Target
    since_ns: int
    time_ns: int
    up: bool = True
    gauges: dict[tuple[str, Labels], float] = field(default_factory=dict)
    counters: dict[tuple[str, Labels], float] = field(default_factory=dict)
    histograms: dict[tuple[str, Labels, tuple[float, ...]], Running] = field(default_factory=dict)


@dataclass(slots=True)
class Totals:
    """The accounts of all targets; safe for threads."""

    _accounts: dict[str, Account] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, scrape: Scrape) -> None:
        """Add one scrape; a target that is gone takes its account along."""
        with self._lock:
            name = scrape.target.instance
            if scrape.state == GONE:
                self._accounts.pop(name, None)
                return
            account = self._accounts.get(name)
            if account is None:
                account = self._accounts[name] = Account(scrape.target, scrape.time_ns, scrape.time_ns)
            account.target, account.time_ns, account.up = scrape.target, scrape.time_ns, scrape.state != FAILED
            account.gauges = {}
            for found in scrape.increments:
                _add(account, found)

    def accounts(self) -> list[Account]:
        """Return copies that nobody changes any more."""
        with self._lock:
            return [
                Account(
                    account.target,
                    account.since_ns,
                    account.time_ns,
                    account.up,
                    dict(account.gauges),
                    dict(account.counters),
                    {
                        key: Running(old.edges, list(old.counts), old.sum, old.count)
                        for key, old in account.histograms.items()
                    },
                )
                for account in self._accounts.values()
            ]


def _add(account: Account, found: Increments) -> None:
    group = tuple((name, value) for name, value in (("model", found.model), ("role", found.role)) if value is not None)
    for (signal, attributes), value in found.gauges.items():
        if value is not None:
            account.gauges[signal, _labels(group, attributes)] = value
    for (signal, attributes), value in found.counters.items():
        key = (signal, _labels(group, attributes))
        if value or key not in account.counters:
            account.counters[key] = account.counters.get(key, 0.0) + value
    for histogram in found.histograms:
        place = (histogram.signal, _labels(group, histogram.attributes), histogram.edges)
        running = account.histograms.get(place)
        if running is None:
            running = account.histograms[place] = Running(histogram.edges, [0] * len(histogram.counts))
        if not histogram.count:
            continue
        running.counts = [a + b for a, b in zip(running.counts, histogram.counts, strict=True)]
        running.sum += histogram.sum
        running.count += histogram.count


def _labels(group: Labels, attributes: Attributes) -> Labels:
    """Return the labels of a point; its own `model` (a gateway's) beats the group's."""
    return (*(pair for pair in group if pair[0] not in dict(attributes)), *attributes) if attributes else group

"""Imports sources into a store, each on its own: a broken one is named and stops no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from collector.importer.bodies import half_batches
from collector.importer.logs import log_batches
from collector.importer.prometheus import prometheus_scrapes
from collector.importer.recordings import scrapes_of
from collector.importer.sources import ARRIVALS, LOG, PAGES, PROMETHEUS, SPANS, TABLE, Source
from collector.importer.tables import read_arrivals, read_table
from collector.store.batch import Batch
from collector.store.store import Store
from signals.errors import SloscopeError, UnreachableError
from signals.records import FAILED, Scrape, Target

#: Batches per commit: enough to be fast, few enough to be kept in memory.
COMMIT_SIZE = 256


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says about everything that is imported."""

    instance: str | None = None
    model: str | None = None
    start: datetime | None = None


@dataclass(slots=True)
class Outcome:
    """What an import did: batches stored and already known per source, requests joined, and every fault.

    A source that failed before anything of it was stored does not count as recognised; `unreachable`: a server whose
    history was asked for does not answer, now or half-way.
    """

    stored: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    requests: int = 0
    recognised: int = 0
    unreachable: bool = False
    faults: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def document(self) -> dict[str, object]:
        """Return what was done as plain data: counts of batches, and every fault and skipped file as a line."""
        return {
            "recognised": self.recognised,
            "unreachable": self.unreachable,
            "stored": sum(self.stored.values()),
            "known": sum(self.known.values()),
            "requests": self.requests,
            "skipped": list(self.skipped),
            "faults": list(self.faults),
        }


def import_sources(store: Store, sources: Sequence[Source], options: Options, say: Callable[[str], None]) -> Outcome:
    """Import every source and join what came; `say` is told about progress."""
    outcome = Outcome()
    for source in sources:
        name = source.url or str(source.path)
        try:
            batches = _batches(source, options, outcome)
            if batches is None:
                outcome.skipped.append(f"{name}: not recognised (no request log, trace or table of a known shape)")
                continue
            _commit(store, name, batches, outcome)
            outcome.recognised += 1
            say(f"{name}: {outcome.stored[name]} batches stored, {outcome.known[name]} already known")
        except SloscopeError as error:
            outcome.faults.append(f"{name}: {error.message}")
            outcome.recognised += bool(outcome.stored.get(name) or outcome.known.get(name))
            outcome.unreachable |= isinstance(error, UnreachableError)
    outcome.requests = store.join()
    store.join_far()
    return outcome


def _batches(source: Source, options: Options, outcome: Outcome) -> Iterable[Batch] | None:
    instance = options.instance or source.instance
    if source.kind == PAGES:
        target = Target(instance or source.path.name, model=options.model)
        return _telling(scrapes_of(source.path, target), source.path, outcome.faults)
    if source.kind == SPANS:
        return half_batches(source.path, instance, options.model, outcome.faults)
    if source.kind == TABLE and source.view is not None:
        return [read_table(source.path, source.view, options.start)]
    if source.kind == ARRIVALS:
        found = read_arrivals(source.path, options.start)
        if found is None:
            return None
        if found[1]:
            outcome.skipped.append(f"{source.path}: columns left out: {', '.join(found[1])}")
        return [found[0]]
    if source.kind == LOG:
        return log_batches(source.path, instance, options.model, outcome.faults)
    if source.kind == PROMETHEUS and source.url is not None:
        return prometheus_scrapes(source.url, outcome.faults)
    return None


def _telling(scrapes: Iterable[Scrape], path: Path, faults: list[str]) -> Iterator[Scrape]:
    """Yield the scrapes; in the end say how many pages were unusable, or in part, and what the first one had."""
    counts: dict[str, int] = {}
    first: dict[str, str] = {}
    for number, scrape in enumerate(scrapes):
        if scrape.error is not None:
            kind = "unusable" if scrape.state == FAILED else "readable in part"
            counts[kind] = counts.get(kind, 0) + 1
            first.setdefault(kind, f"page {number}: {scrape.error}")
        yield scrape
    faults.extend(f"{path}: {count} pages are {kind}; {first[kind]}" for kind, count in counts.items())


def _commit(store: Store, name: str, batches: Iterable[Batch], outcome: Outcome) -> None:
    outcome.stored[name] = outcome.known[name] = 0
    for group in _groups(batches):
        new = store.commit(group)
        outcome.stored[name] += sum(new)
        outcome.known[name] += len(new) - sum(new)


def _groups(batches: Iterable[Batch]) -> Iterable[list[Batch]]:
    group: list[Batch] = []
    for batch in batches:
        group.append(batch)
        if len(group) >= COMMIT_SIZE:
            yield group
            group = []
    if group:
        yield group

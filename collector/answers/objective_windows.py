"""Counts an objective's good and bad events by look-back window, from stored minutes, requests and pages.

What engines' own pages count stands in for model hours without any recorded request, never beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from analytics.slo import DIMENSIONS, Objective
from collector.answers.objective_scope import (
    SOURCES,
    Scope,
    counted_pages,
    counted_requests,
    model_scope,
    moment_of,
)
from collector.store.reader import Columns, Reader

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(slots=True)
class Tally:
    """Events of one scope in one look-back window.

    `straddling`: scraped ones that an edge leaves undecided (they are in `good`). `unmeasured`: answered requests that
    lack the latency (they are in `excluded`). `exclusions`: by the name of what left them out.
    """

    good: int = 0
    bad: int = 0
    excluded: int = 0
    straddling: int = 0
    unmeasured: int = 0
    sources: set[str] = field(default_factory=set)
    exclusions: dict[str, int] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        self.good += other.good
        self.bad += other.bad
        self.excluded += other.excluded
        self.straddling += other.straddling
        self.unmeasured += other.unmeasured
        self.sources |= other.sources
        for name, count in other.exclusions.items():
            self.exclusions[name] = self.exclusions.get(name, 0) + count


def window_counts(
    reader: Reader,
    objective: Objective,
    starts: Sequence[datetime],
    until: datetime,
    *,
    stored_before: datetime | None = None,
) -> dict[Scope, list[Tally]]:
    """Return for every scope its tallies of [start, until) for each of `starts`, ascending.

    Minutes before `stored_before` (a whole hour) come from stored counts of the objective's revision, later ones from
    requests and pages.
    """
    rings: dict[Scope, list[Tally]] = {}

    def add(scope: Scope, ring: int, tally: Tally) -> None:
        rings.setdefault(scope, [Tally() for _ in starts])[ring - 1].add(tally)

    opened = list(starts)
    if stored_before is not None:
        for scope, ring, tally, _ in stored_tallies(reader, objective, starts, stored_before):
            if tally.good or tally.bad or tally.excluded:
                add(scope, ring, tally)
        opened = [max(start, stored_before) for start in starts]
    requests = counted_requests(reader, objective, opened, until, by_minute=False)
    for place, ring in enumerate(requests["ring"].astype(np.int64).tolist()):
        add(tuple(requests[name][place] for name in DIMENSIONS), ring, _request_tally(requests, place))
    pages = counted_pages(reader, objective, opened, until, by_minute=False)
    if pages is not None:
        for place, ring in enumerate(pages["ring"].astype(np.int64).tolist()):
            good, bad, straddling = (int(pages[name][place]) for name in ("good", "bad", "straddling"))
            tally = Tally(good, bad, straddling=straddling, sources={"page"})
            add(model_scope(objective, pages["model"][place]), ring, tally)
    for tallies in rings.values():
        for inner, outer in zip(tallies[:0:-1], tallies[-2::-1], strict=True):
            outer.add(inner)
    return rings


def _request_tally(columns: Columns, place: int) -> Tally:
    good, bad, excluded = (int(columns[name][place]) for name in ("good", "bad", "excluded"))
    source = SOURCES[int(columns["source_rank"][place])]
    tally = Tally(good, bad, excluded, unmeasured=int(columns["unmeasured"][place]), sources={source})
    if (exclusion := columns["exclusion"][place]) is not None:
        tally.exclusions[str(exclusion)] = excluded
    return tally


def stored_tallies(
    reader: Reader, objective: Objective, starts: Sequence[datetime], until: datetime
) -> list[tuple[Scope, int, Tally, int]]:
    """Return (scope, ring, tally, unattributed) of stored counts in [starts[0], until); bad without unattributed."""
    columns = reader.columns(
        "slo_stored_counts",
        objective=objective.name,
        revision=objective.revision,
        since=min(starts),
        until=until,
        starts=list(starts),
    )
    found = []
    for place, ring in enumerate(columns["ring"].astype(np.int64).tolist()):
        scope = tuple(columns[name][place] for name in DIMENSIONS)
        hidden = int(columns["unattributed_bad"][place])
        bad = int(columns["bad"][place]) - (hidden if objective.model_wide else 0)
        source = "stored" if columns["exact"][place] else "page"
        tally = Tally(int(columns["good"][place]), bad, int(columns["excluded"][place]), sources={source})
        found.append((scope, ring, tally, hidden))
    return found


@dataclass(frozen=True, slots=True)
class Reach:
    """How far back an objective can be counted: stored minutes up to `stored_before`, everything from `since` on."""

    stored_before: datetime | None
    since: datetime | None


def reach_of(
    reader: Reader, objective: Objective, start: datetime, until: datetime, *, raw_window: timedelta | None = None
) -> Reach:
    """Return which part of [start, until) stored counts have to stand in for, and since when all of it is counted.

    Stored counts are used a day beyond what raw requests have lost, since requests that arrived before the oldest
    kept one may have ended after it. With `raw_window` they are used for everything older than that, where they reach
    back as far as requests do: a server that stores every minute need not read a month of requests each time.
    """
    oldest_raw = _first(reader.columns("slo_raw_span")["oldest"])
    span = reader.columns(
        "slo_stored_span", objective=objective.name, revision=objective.revision, since=start, until=until
    )
    oldest, newest = _first(span["oldest"]), _first(span["newest"])
    begins = [moment for moment in (oldest_raw, oldest) if moment is not None]
    since = max(start, min(begins)) if begins else None
    if newest is None or oldest is None:
        return Reach(None, since)
    stored_until = newest.replace(minute=0)
    covered = since is not None and oldest <= since + _HOUR
    if raw_window is not None and covered:
        return Reach(min(stored_until, (until - raw_window).replace(minute=0, second=0, microsecond=0)), since)
    if oldest_raw is not None and (oldest_raw <= start - _DAY or oldest_raw.replace(second=0, microsecond=0) <= oldest):
        return Reach(None, since)
    if oldest_raw is None:
        return Reach(stored_until + _HOUR, since)
    return Reach(min(stored_until, oldest_raw.replace(minute=0, second=0, microsecond=0) + _DAY + _HOUR), since)


def _first(column: np.ndarray) -> datetime | None:
    return moment_of(column[0]) if len(column) else None

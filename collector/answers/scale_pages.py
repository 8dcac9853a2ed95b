"""Counts a pool's instances and reads their newest pages: what serves, what starts, what is not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import isfinite, nan

import numpy as np

from analytics.scaling import Settings, Sight
from analytics.scaling.phases import Start
from collector.answers.scale_phases import starts as told_starts
from collector.answers.scale_roster import Roster
from collector.store.reader import Columns, Reader, as_datetime


@dataclass(frozen=True, slots=True)
class Instance:
    """One living instance: its newest page, or only its life where it was never scraped."""

    name: str
    ready: bool
    state: str | None = None
    newest: datetime | None = None
    newest_good: datetime | None = None
    interval_seconds: float = nan
    queue: float = nan
    running: float = nan
    kv_usage_ratio: float = nan
    draining: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """The instances of one pool; sums are NaN where no instance says."""

    instances: tuple[Instance, ...] = ()
    cold_starts: tuple[float, ...] = ()
    ready_at: Mapping[str, datetime] = field(default_factory=dict)
    max_running: float = nan
    #: What engines told of the starts of this pool's instances.
    starts: tuple[Start, ...] = ()

    @property
    def current(self) -> int:
        return sum(not one.draining for one in self.instances)

    @property
    def ready(self) -> int:
        return sum(one.ready and not one.draining for one in self.instances)

    @property
    def starting(self) -> int:
        return self.current - self.ready

    @property
    def queue(self) -> float:
        return _total([one.queue for one in self.instances])

    @property
    def running(self) -> float:
        return _total([one.running for one in self.instances])

    @property
    def kv_usage_ratio(self) -> float:
        seen = [one.kv_usage_ratio for one in self.instances if isfinite(one.kv_usage_ratio)]
        return sum(seen) / len(seen) if seen else nan

    def sight(self, now: datetime, settings: Settings) -> Sight:
        """Return how well the ready instances are seen at `now`."""
        ready = [one for one in self.instances if one.ready]
        intervals = [one.interval_seconds for one in ready if isfinite(one.interval_seconds)]
        interval = float(np.median(intervals)) if intervals else 15.0
        limit = max(settings.blind_after_seconds, settings.blind_after_intervals * interval)
        good = [one.newest_good for one in ready if one.newest_good is not None]
        fresh = sum(now - at <= timedelta(seconds=limit) for at in good)
        return Sight(
            newest_good=max(good, default=None),
            expected=len(ready),
            reporting=fresh,
            failed=sum(one.state == "failed" for one in ready),
            frozen=sum(one.state == "frozen" for one in ready),
            interval_seconds=interval,
        )

    def victims(self) -> tuple[str, ...]:
        """Return instances in the order of giving back: least work in flight, then the emptiest cache."""
        chosen = [one for one in self.instances if one.ready and not one.draining]
        chosen.sort(
            key=lambda one: (_or_zero(one.running) + _or_zero(one.queue), _or_zero(one.kv_usage_ratio), one.name)
        )
        return tuple(one.name for one in chosen)


def pages(reader: Reader, now: datetime, since: datetime, roster: Roster) -> dict[int, Page]:
    """Return the page of every pool that has a living instance or was sampled since `since`."""
    scraped = reader.columns("scale_instances", since=since, now=now)
    lives = reader.columns("scale_lives", since=since - timedelta(days=13), now=now)
    scraped_rows, life_rows = roster.rows(scraped), roster.rows(lives)
    told = told_starts(reader, now, _begins(lives))
    found = {}
    for place in sorted(set(scraped_rows) | set(life_rows)):
        instances: dict[str, Instance] = {}
        stopped: dict[str, datetime] = {}
        starts: list[float] = []
        ready_at: dict[str, datetime] = {}
        phases: list[Start] = []
        seats = nan
        for row in life_rows.get(place, ()):
            life = {name: values[row] for name, values in lives.items()}
            begun, ready = as_datetime(life["started_at"]), _moment(life["ready_at"])
            ended, name = _moment(life["stopped_at"]), str(life["instance"])
            if (name, begun) in told:
                phases.append(told[name, begun])
            seats = float(life["max_running"]) if life["max_running"] == life["max_running"] else seats
            if ready is not None:
                ready_at[name] = ready
                starts.append((ready - begun).total_seconds())
            if ended is not None and ended <= now:
                stopped[name] = ended
                instances.pop(name, None)
                continue
            draining = _moment(life["draining_at"])
            instances[name] = Instance(name, ready is not None and ready <= now, draining=draining is not None)
            stopped.pop(name, None)
        for row in scraped_rows.get(place, ()):
            one = _scraped(scraped, int(row), instances)
            gone = one.state == "gone" or (one.name in stopped and (one.newest or now) <= stopped[one.name])
            if gone:
                instances.pop(one.name, None)
            else:
                instances[one.name] = one
        # A start of zero seconds is a life whose beginning nobody saw.
        found[place] = Page(
            tuple(instances.values()), tuple(s for s in starts if s > 1.0), ready_at, seats, tuple(phases)
        )
    return found


def _scraped(columns: Columns, row: int, lives: Mapping[str, Instance]) -> Instance:
    name = str(columns["instance"][row])
    good = _moment(columns["newest_good"][row])
    life = lives.get(name)
    return Instance(
        name=name,
        ready=good is not None,
        state=str(columns["newest_state"][row]),
        newest=_moment(columns["newest"][row]),
        newest_good=good,
        interval_seconds=float(columns["interval_seconds"][row]),
        queue=float(columns["queue_depth"][row]),
        running=float(columns["running"][row]),
        kv_usage_ratio=float(columns["kv_usage_ratio"][row]),
        draining=life.draining if life is not None else False,
    )


def _begins(lives: Columns) -> dict[str, list[datetime]]:
    """Return the starts of processes by instance, in order."""
    found: dict[str, set[datetime]] = {}
    for name, begun in zip(lives["instance"].tolist(), lives["started_at"], strict=True):
        found.setdefault(str(name), set()).add(as_datetime(begun))
    return {name: sorted(times) for name, times in found.items()}


def _moment(value: np.generic) -> datetime | None:
    return None if np.isnat(value) else as_datetime(value)


def _total(values: list[float]) -> float:
    seen = [value for value in values if isfinite(value)]
    return sum(seen) if seen else nan


def _or_zero(value: float) -> float:
    return value if isfinite(value) else 0.0

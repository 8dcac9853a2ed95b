"""Counts each objective's good and bad events, by look-back window or by minute; judges no budget.

What engines' own pages count stands in for model hours without any recorded request, never beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf

import numpy as np

from analytics.slo import DIMENSIONS, Objective
from collector.store.reader import Columns, Reader, as_datetime
from signals.lengths import LENGTH_BUCKETS

#: Dimension values in the order of analytics.slo.DIMENSIONS; None where the objective is not broken down by it.
Scope = tuple[str | None, ...]
#: SLI sources, best first in a model hour; the numbers are slo_counts.sql's.
SOURCES: Mapping[int, str] = {2: "gateway", 1: "log", 0: "engine", -1: "page"}
_TICK, _HOUR, _DAY = timedelta(microseconds=1), timedelta(hours=1), timedelta(days=1)


@dataclass(slots=True)
class Tally:
    """Events of one scope in one look-back window; `straddling` are scraped ones that an edge leaves undecided."""

    good: int = 0
    bad: int = 0
    excluded: int = 0
    straddling: int = 0
    sources: set[str] = field(default_factory=set)
    exclusions: dict[str, int] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        self.good += other.good
        self.bad += other.bad
        self.excluded += other.excluded
        self.straddling += other.straddling
        self.sources |= other.sources
        for name, count in other.exclusions.items():
            self.exclusions[name] = self.exclusions.get(name, 0) + count


def scope_parameters(objective: Objective) -> dict[str, object]:
    """Return what every slo_*.sql file wants to know of an objective's scope."""
    only = {name: None if (kept := objective.only.get(name)) is None else list(kept) for name in DIMENSIONS}
    return {**only, **{f"by_{name}": name in objective.by for name in DIMENSIONS}}


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
    opened = list(starts)
    if stored_before is not None:
        for scope, ring, tally, _ in stored_tallies(reader, objective, starts, stored_before):
            if tally.good or tally.bad or tally.excluded:
                rings.setdefault(scope, [Tally() for _ in starts])[ring - 1].add(tally)
        opened = [max(start, stored_before) for start in starts]
    for columns, from_pages in _requests_then_pages(reader, objective, opened, until, by_minute=False):
        for scope, ring, tally in _tallies(objective, columns, from_pages=from_pages):
            rings.setdefault(scope, [Tally() for _ in starts])[ring - 1].add(tally)
    for tallies in rings.values():
        for inner, outer in zip(tallies[:0:-1], tallies[-2::-1], strict=True):
            outer.add(inner)
    return rings


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


def stored_boundary(reader: Reader, objective: Objective, start: datetime, until: datetime) -> datetime | None:
    """Return the whole hour up to which stored counts stand in because raw requests do not reach back to `start`.

    A day more than what is gone, since requests that arrived before the oldest kept one may have ended after it.
    None where raw requests reach back far enough or nothing is stored for this revision.
    """
    oldest_raw = _first(reader.columns("slo_raw_span")["oldest"])
    if oldest_raw is not None and oldest_raw <= start - _DAY:
        return None
    span = reader.columns(
        "slo_stored_span", objective=objective.name, revision=objective.revision, since=start, until=until
    )
    newest = _first(span["newest"])
    if newest is None:
        return None
    stored_until = newest.replace(minute=0)
    if oldest_raw is None:
        return stored_until + _HOUR
    return min(stored_until, oldest_raw.replace(minute=0, second=0, microsecond=0) + _DAY + _HOUR)


def _first(column: np.ndarray) -> datetime | None:
    return moment_of(column[0]) if len(column) else None


def objective_counts(reader: Reader, objectives: Iterable[Objective], start: datetime, end: datetime) -> Columns:
    """Return rows for the view objective_counts for every minute in [start, end) that has an event.

    Both ends are taken down to whole minutes. The SLI source is chosen by hour, so count whole hours where possible.
    Events known only from counters are in `unattributed_bad`: of a model-wide objective they are in `bad` too; of any
    other they stand in a row that names the model alone.
    """
    opening, closing = (moment.replace(second=0, microsecond=0) for moment in (start, end))
    rows: list[tuple[object, ...]] = []
    for objective in objectives:
        minutes: dict[tuple[int, Scope], Tally] = {}
        for columns, from_pages in _requests_then_pages(reader, objective, [opening], closing, by_minute=True):
            for scope, ts, tally in _tallies(objective, columns, from_pages=from_pages, key="ts"):
                minutes.setdefault((ts, scope), Tally()).add(tally)
        unattributed: dict[tuple[int, Scope], int] = {}
        for model, minute, count in unattributed_minutes(reader, objective, opening, closing):
            place = (int(minute.astype(np.int64)), _model_scope(objective, model))
            unattributed[place] = unattributed.get(place, 0) + count
        for ts, scope in sorted({*minutes, *unattributed}, key=lambda key: (key[0], *(name or "" for name in key[1]))):
            tally = minutes.get((ts, scope), Tally())
            hidden = unattributed.get((ts, scope), 0)
            bad = tally.bad + (hidden if objective.model_wide else 0)
            exact = "page" not in tally.sources
            rows.append(
                (ts, objective.name, objective.revision, *scope, tally.good, bad, tally.excluded, hidden, exact)
            )
    return _as_columns(rows)


def unattributed_minutes(
    reader: Reader, objective: Objective, start: datetime, end: datetime
) -> list[tuple[str | None, np.datetime64, int]]:
    """Return (model, minute, events) of aborts and rejections that only counters know, in [start, end).

    What requests record of them is taken off: a count never exceeds counted - recorded up to any later minute. A page's
    TTFT histogram has already counted who left after the first token, so in hours that only pages know their aborts
    are not counted twice.
    """
    wanted = {"since": start, "until": end, "model": scope_parameters(objective)["model"]}
    columns = reader.columns("slo_counter_minutes", **wanted)
    found = []
    models = columns["model"].tolist()
    for model in dict.fromkeys(models):
        place = np.array([name == model for name in models])
        hidden = np.zeros(int(place.sum()))
        for kind in ("aborted", "rejected"):
            counted = columns[kind][place].astype(np.float64)
            if kind == "aborted" and objective.clock == "first_token":
                counted = np.where(columns["by_page"][place].astype(bool), 0.0, counted)
            surplus = np.cumsum(counted - columns[f"recorded_{kind}"][place].astype(np.float64))
            level = np.maximum(0.0, np.minimum.accumulate(surplus[::-1])[::-1])
            hidden += np.diff(level, prepend=0.0)
        found += [
            (model, minute, round(count))
            for minute, count in zip(columns["ts"][place], hidden, strict=True)
            if round(count) > 0
        ]
    return found


def count_parameters(objective: Objective) -> dict[str, object]:
    """Return scope, limits by length bucket and exclusions as parameters of slo_counts.sql."""
    limits: dict[str, object] = {}
    by_metric = {threshold.metric: threshold for threshold in objective.thresholds}
    for metric in ("ttft", "tpot", "e2e"):
        threshold = by_metric.get(f"{metric}_seconds")
        limits[f"has_{metric}"] = threshold is not None
        limits[f"{metric}_limits"] = [
            None if threshold is None else threshold.limit(bucket) for bucket in (*LENGTH_BUCKETS, None)
        ]
    left_out = objective.exclusions
    excluded: dict[str, object] = {
        "excluded_name": [exclusion.name for exclusion in left_out],
        "excluded_from": [exclusion.start for exclusion in left_out],
        "excluded_until": [exclusion.end for exclusion in left_out],
    }
    for name in DIMENSIONS:
        kept = [exclusion.only.get(name) for exclusion in left_out]
        excluded[f"excluded_{name}"] = [None if values is None else list(values) for values in kept]
    return {**scope_parameters(objective), **limits, **excluded, "buckets": list(LENGTH_BUCKETS)}


def _requests_then_pages(
    reader: Reader, objective: Objective, starts: list[datetime], until: datetime, *, by_minute: bool
) -> list[tuple[Columns, bool]]:
    """Return the counts of requests and, where pages can answer the objective, those of pages; starts ascending."""
    span = {"since": starts[0], "until": until, "starts": starts, "by_minute": by_minute}
    by_first_token = objective.clock == "first_token"
    requests = reader.columns("slo_counts", **count_parameters(objective), **span, by_first_token=by_first_token)
    found = [(requests, False)]
    if pages_can_answer(objective):
        only = objective.thresholds[0]
        found.append(
            (
                reader.columns(
                    "slo_edge_counts",
                    **span,
                    model=scope_parameters(objective)["model"],
                    by_model="model" in objective.by,
                    by_first_token=by_first_token,
                    metric=only.metric,
                    threshold=only.at_most_seconds,
                ),
                True,
            )
        )
    return found


def pages_can_answer(objective: Objective) -> bool:
    """Say whether scraped histograms can stand in: whole models and one threshold that is the same for all lengths."""
    one = len(objective.thresholds) == 1 and not objective.thresholds[0].by_length
    return objective.model_wide and one


def _tallies(
    objective: Objective, columns: Columns, *, from_pages: bool, key: str = "ring"
) -> list[tuple[Scope, int, Tally]]:
    """Return (scope, ring or minute in µs, tally) of each row of counted columns."""
    found: list[tuple[Scope, int, Tally]] = []
    keys = columns[key].astype(np.int64).tolist()
    for place in range(len(columns["good"])):
        good, bad = int(columns["good"][place]), int(columns["bad"][place])
        if from_pages:
            scope = _model_scope(objective, columns["model"][place])
            tally = Tally(good, bad, straddling=int(columns["straddling"][place]), sources={"page"})
        else:
            scope = tuple(columns[name][place] for name in DIMENSIONS)
            excluded, exclusion = int(columns["excluded"][place]), columns["exclusion"][place]
            tally = Tally(good, bad, excluded, sources={SOURCES[int(columns["source_rank"][place])]})
            if exclusion is not None:
                tally.exclusions[str(exclusion)] = excluded
        found.append((scope, keys[place], tally))
    return found


def _model_scope(objective: Objective, model: object) -> Scope:
    named = str(model) if "model" in objective.by and model is not None else None
    return (named, *(None for _ in DIMENSIONS[1:]))


def _as_columns(rows: Sequence[tuple[object, ...]]) -> Columns:
    """Return rows as the view's columns with their types."""
    names = ("ts", "objective", "revision", *DIMENSIONS, "good", "bad", "excluded", "unattributed_bad", "exact")
    kinds = {"ts": "datetime64[us]", "exact": "bool", **dict.fromkeys(names[9:13], "int64"), "revision": "int64"}
    return {
        name: np.array([row[place] for row in rows], dtype=kinds.get(name, "object"))
        for place, name in enumerate(names)
    }


def moment_of(value: np.generic) -> datetime | None:
    """Return a datetime64 as an aware datetime, None for NaT."""
    return None if np.isnat(value) else as_datetime(value)


def just_after(moment: datetime) -> datetime:
    """Return the open end of a window that includes `moment`."""
    return moment + _TICK


def share(part: float, whole: float) -> float | None:
    """Return part / whole, None where the whole is nothing or unknown."""
    return None if not whole or whole != whole or whole == inf else part / whole

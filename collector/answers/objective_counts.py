"""Counts each objective's good and bad events by minute, for the view objective_counts; judges no budget."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import numpy as np
import numpy.typing as npt

from analytics.slo import DIMENSIONS, Objective
from collector.answers.counter_events import unattributed_minutes
from collector.answers.objective_scope import Scope, counted_pages, counted_requests, model_scope
from collector.store.reader import Columns, Reader

_COUNTS = ("good", "bad", "excluded")


def objective_counts(reader: Reader, objectives: Iterable[Objective], start: datetime, end: datetime) -> Columns:
    """Return rows for the view objective_counts for every minute in [start, end) that has an event.

    Both ends are taken down to whole minutes. The SLI source of an hour is chosen from what is known of it up to `end`.
    Events known only from counters are in `unattributed_bad`: of a model-wide objective they are in `bad` too; of any
    other they stand in a row that names the model alone.
    """
    opening, closing = (moment.replace(second=0, microsecond=0) for moment in (start, end))
    parts = [_rows(reader, objective, opening, closing) for objective in objectives]
    names = ("ts", "objective", "revision", *DIMENSIONS, *_COUNTS, "unattributed_bad", "exact")
    if not parts:
        return {name: np.array([], dtype=object) for name in names}
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def _rows(reader: Reader, objective: Objective, opening: datetime, closing: datetime) -> Columns:
    hour = opening.replace(minute=0)
    columns = counted_requests(reader, objective, [hour], closing, by_minute=True)
    found: dict[str, npt.NDArray[np.generic]] = {
        name: columns[name].astype(np.int64) if name in _COUNTS else columns[name]
        for name in ("ts", *DIMENSIONS, *_COUNTS)
    }
    found["exact"] = np.ones(len(found["ts"]), dtype=bool)
    pages = counted_pages(reader, objective, [hour], closing, by_minute=True)
    if pages is not None and len(pages["ts"]):
        found = _below(found, _page_rows(pages))
    found["unattributed_bad"] = np.zeros(len(found["ts"]), dtype=np.int64)
    hidden = unattributed_minutes(reader, objective, hour, closing)
    if hidden:
        found = _with_unattributed(objective, found, hidden)
    kept = found["ts"] >= np.datetime64(opening.replace(tzinfo=None), "us")
    found = {name: column[kept] for name, column in found.items()}
    count = len(found["ts"])
    found["objective"] = np.full(count, objective.name, dtype=object)
    found["revision"] = np.full(count, objective.revision, dtype=np.int64)
    return found


def _page_rows(pages: Columns) -> Columns:
    count = len(pages["ts"])
    nothing = np.full(count, None, dtype=object)
    return {
        "ts": pages["ts"],
        **dict.fromkeys(DIMENSIONS, nothing),
        "model": pages["model"],
        "good": pages["good"].astype(np.int64),
        "bad": pages["bad"].astype(np.int64),
        "excluded": np.zeros(count, dtype=np.int64),
        "exact": np.zeros(count, dtype=bool),
    }


def _with_unattributed(
    objective: Objective, found: Columns, hidden: Iterable[tuple[str | None, np.datetime64, int]]
) -> Columns:
    """Add counter-only events to the rows of their minute and model; rows are made where there are none."""
    keys = zip(found["ts"].tolist(), *(found[name].tolist() for name in DIMENSIONS), strict=True)
    places = {(ts, tuple(scope)): place for place, (ts, *scope) in enumerate(keys)}
    missing: dict[tuple[object, Scope], int] = {}
    bad, unattributed = found["bad"].copy(), found["unattributed_bad"].copy()
    for model, minute, count in hidden:
        key = (minute.item(), model_scope(objective, model))
        place = places.get(key)
        if place is None:
            missing[key] = missing.get(key, 0) + count
            continue
        unattributed[place] += count
        bad[place] += count if objective.model_wide else 0
    found = {**found, "bad": bad, "unattributed_bad": unattributed}
    if not missing:
        return found
    counts = np.array(list(missing.values()), dtype=np.int64)
    zeros = np.zeros(len(counts), dtype=np.int64)
    extra: Columns = {
        "ts": np.array([ts for ts, _ in missing], dtype="datetime64[us]"),
        **{
            name: np.array([scope[place] for _, scope in missing], dtype=object)
            for place, name in enumerate(DIMENSIONS)
        },
        "good": zeros,
        "bad": counts if objective.model_wide else zeros,
        "excluded": zeros,
        "unattributed_bad": counts,
        "exact": np.ones(len(counts), dtype=bool),
    }
    return _below(found, extra)


def _below(upper: Columns, lower: Columns) -> Columns:
    return {name: np.concatenate((column, lower[name])) for name, column in upper.items()}

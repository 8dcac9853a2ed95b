"""Answers how many good and bad events each objective has had since the server started, as Prometheus counters.

The exported rules read these two series. They begin at 0 with the process, as counters do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from analytics.slo import DIMENSIONS, Objective
from collector.answers.export_rules import BAD_SERIES, GOOD_SERIES
from collector.store.reader import Reader

_FOR_EVER = timedelta(days=36_500)


@dataclass(frozen=True, slots=True)
class CounterValue:
    """One series of one of the two counters; dimensions that the objective does not break down by have no label."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: int


def objective_series(reader: Reader, objectives: Iterable[Objective], started_at: datetime) -> tuple[CounterValue, ...]:
    """Return both counters of every scope from stored minutes since `started_at`.

    A recount of a late minute may lower a value by a few events: the caller keeps the highest it has shown.
    """
    found = []
    for objective in objectives:
        columns = reader.columns(
            "slo_stored_counts",
            objective=objective.name,
            revision=objective.revision,
            since=started_at,
            until=started_at + _FOR_EVER,
            starts=[started_at],
        )
        for place in range(len(columns["good"])):
            scope = {name: columns[name][place] for name in DIMENSIONS}
            named = tuple((name, str(value)) for name, value in scope.items() if value is not None)
            labels = (("objective", objective.name), *named)
            found.append(CounterValue(GOOD_SERIES, labels, int(columns["good"][place])))
            found.append(CounterValue(BAD_SERIES, labels, int(columns["bad"][place])))
    return tuple(found)

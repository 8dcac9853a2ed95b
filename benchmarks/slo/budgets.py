"""Counts events that the product gets wrong on a month of known truth: live, after roll-up, after an edit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import combinations

import duckdb
import pyarrow as pa

from analytics.slo import Objective, Threshold
from benchmarks.slo.month import DAYS, DIMENSIONS, START, Request, truth
from collector.answers.objective_counts import objective_counts
from collector.answers.objective_scope import Scope, just_after
from collector.answers.objective_windows import Tally, reach_of, window_counts
from collector.store.reader import DuckReader

NOW = START + timedelta(days=DAYS)
WINDOW = timedelta(days=28)
#: Requests of the last week stay raw after the roll-up.
RAW = timedelta(days=7)

TTFT_LIMITS: Mapping[str, Mapping[str | None, float]] = {"ttft": {None: 2.0, "16k-64k": 4.0, "64k-256k": 12.0}}
JOINT_LIMITS: Mapping[str, Mapping[str | None, float]] = {
    "ttft": {None: 2.0, "64k-256k": 12.0},
    "tpot": {None: 0.06},
    "e2e": {None: 15.0, "64k-256k": 30.0},
}


@dataclass(frozen=True, slots=True)
class Case:
    """One objective and the same in the truth's own words."""

    objective: Objective
    limits: Mapping[str, Mapping[str | None, float]]


def cases(limits: Mapping[str, Mapping[str | None, float]], every: int = 1) -> Iterator[Case]:
    """Yield an objective for every combination of dimensions (or each `every`-th), some of them filtered."""
    combos = [chosen for size in range(len(DIMENSIONS) + 1) for chosen in combinations(DIMENSIONS, size)]
    for place, by in enumerate(combos[::every]):
        only = {"model": ("model-a",)} if place % 3 == 1 else {"tenant": ("acme", "globex")} if place % 3 == 2 else {}
        yield Case(Objective(f"case-{place}", thresholds(limits), by=by, only=only), limits)


def thresholds(limits: Mapping[str, Mapping[str | None, float]]) -> tuple[Threshold, ...]:
    """Return limits as thresholds."""
    return tuple(
        Threshold(
            f"{metric}_seconds", by_length[None], {name: limit for name, limit in by_length.items() if name is not None}
        )
        for metric, by_length in limits.items()
    )


def wrong_events(connection: duckdb.DuckDBPyConnection, requests: Sequence[Request], case: Case) -> int:
    """Return how many good, bad and excluded events of the last 28 days differ from the truth."""
    reader = DuckReader(connection)
    boundary = reach_of(reader, case.objective, NOW - WINDOW, just_after(NOW)).stored_before
    counted = window_counts(reader, case.objective, [NOW - WINDOW], just_after(NOW), stored_before=boundary)
    expected = truth(requests, case.limits, by=case.objective.by, only=case.objective.only, start=NOW - WINDOW, end=NOW)
    return _difference({scope: tallies[0] for scope, tallies in counted.items()}, expected)


def roll_up(connection: duckdb.DuckDBPyConnection, objectives: Sequence[Objective]) -> None:
    """Store every minute's counts, as the job does."""
    columns = objective_counts(DuckReader(connection), objectives, START, NOW + timedelta(hours=1))
    table = pa.table({name: pa.array(values.tolist()) for name, values in columns.items() if name != "ts"})
    connection.register("counted", table.append_column("ts", pa.array(columns["ts"], pa.timestamp("us", "UTC"))))
    names = ", ".join(columns)
    connection.execute(f"insert into objective_counts ({names}) select {names} from counted").fetchall()
    connection.unregister("counted")


def drop_raw(connection: duckdb.DuckDBPyConnection) -> None:
    """Forget requests that arrived before the last week."""
    connection.execute("delete from requests where ts < $before", {"before": NOW - RAW}).fetchall()


def edited(case: Case) -> Case:
    """Return the case with its first limit halved: a new revision."""
    first = next(iter(case.limits))
    limits = {
        metric: {name: limit / 2 if metric == first else limit for name, limit in by_length.items()}
        for metric, by_length in case.limits.items()
    }
    return Case(replace(case.objective, thresholds=thresholds(limits)), limits)


def _difference(counted: Mapping[Scope, Tally], expected: Mapping[Scope, tuple[int, int, int]]) -> int:
    wrong = 0
    for scope in {*counted, *expected}:
        tally, want = counted.get(scope, Tally()), expected.get(scope, (0, 0, 0))
        wrong += sum(
            abs(got - wanted) for got, wanted in zip((tally.good, tally.bad, tally.excluded), want, strict=True)
        )
    return wrong

"""Runs cases through the product's own `explain` and grades them; prints nothing and judges nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from time import perf_counter

import duckdb
import numpy as np

from benchmarks.faultlab.cases import CONTROL, Case, lifted, make, tables
from benchmarks.faultlab.poverty import impoverish
from benchmarks.faultlab.record import EPOCH_US, MODEL
from benchmarks.faultlab.scoring import Outcome, grade
from benchmarks.faultlab.world import World
from collector.answers.explain import explain
from collector.store.reader import DuckReader

#: What may look at the same tables after `explain` has: (case, world, connection, start, end).
Onlooker = Callable[[Case, World, duckdb.DuckDBPyConnection, datetime, datetime], None]


def moment(seconds: float) -> datetime:
    """Return a time of the case as an aware datetime."""
    return datetime.fromtimestamp(EPOCH_US / 1e6 + seconds, UTC)


def trials(
    cases: Iterable[Case], onlooker: Onlooker | None = None, requests: int = 30_000, *, poor: bool = False
) -> Iterator[Outcome | Case]:
    """Yield the outcome of each case, or the case itself where the fault did not raise P99 and is no incident.

    With `poor`, data are taken away before the question is asked.
    """
    connection = tables()
    reader = DuckReader(connection)
    for case in cases:
        world = make(case, connection, requests)
        if case.fault != CONTROL and not lifted(world, connection):
            yield case
            continue
        start, end = moment(world.fault_from), moment(world.fault_to)
        stage = true_stage(world, connection, start) if case.fault != CONTROL else None
        if poor:
            impoverish(connection, np.random.default_rng(case.seed))
        began = perf_counter()
        answer = explain(reader, moment(world.horizon), model=MODEL, metric=world.metric, start=start, end=end)
        seconds = perf_counter() - began
        yield grade(case, world, answer, seconds, stage)
        if onlooker is not None:
            onlooker(case, world, connection, start, end)


def true_stage(world: World, connection: duckdb.DuckDBPyConnection, start: datetime) -> str:
    """Return the stage whose mean grew most over the slowest twentieth of the requests before and during."""
    if world.metric == "tpot":
        return "decode"
    rows = connection.execute(
        "with placed as (select *, ts >= $start as late, "
        "percent_rank() over (partition by ts >= $start order by ttft_seconds) as place from requests) "
        "select avg(gateway_seconds) filter (where late) - avg(gateway_seconds) filter (where not late), "
        "avg(queue_seconds) filter (where late) - avg(queue_seconds) filter (where not late), "
        "avg(prefill_seconds) filter (where late) - avg(prefill_seconds) filter (where not late), "
        "avg(coalesce(transfer_seconds, 0)) filter (where late) "
        "- avg(coalesce(transfer_seconds, 0)) filter (where not late) from placed where place >= 0.95",
        {"start": start},
    ).fetchone()
    assert rows is not None
    names = ("gateway", "queue", "prefill", "transfer")
    return max(zip(rows, names, strict=True))[1]

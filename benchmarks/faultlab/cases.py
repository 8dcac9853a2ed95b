"""Lists the cases of a run by seed and makes one: fault, severity, confounder; development and test never meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
import numpy as np

from benchmarks.faultlab.confounders import CONFOUNDERS, confound
from benchmarks.faultlab.faults import FAULTS
from benchmarks.faultlab.record import record
from benchmarks.faultlab.world import World, draw
from signals.views import VIEWS

DEVELOPMENT_SEEDS, TEST_SEEDS = 1_000_000, 9_000_000
CONTROL = "no_fault"


@dataclass(frozen=True, slots=True)
class Case:
    """One case: which fault (or none), how severe, with which confounder, from which seed."""

    fault: str
    severity: int
    confounder: str
    seed: int


def listed(first_seed: int, seeds: int, controls: int) -> Iterator[Case]:
    """Yield every fault at three severities for `seeds` seeds, then controls without a fault."""
    number = 0
    for fault in FAULTS:
        for severity in range(3):
            for _ in range(seeds):
                yield Case(fault, severity, CONFOUNDERS[number % len(CONFOUNDERS)], first_seed + number)
                number += 1
    for _ in range(controls):
        yield Case(CONTROL, 0, CONFOUNDERS[number % len(CONFOUNDERS)], first_seed + number)
        number += 1


def make(case: Case, connection: duckdb.DuckDBPyConnection, requests: int = 30_000) -> World:
    """Simulate a case into the connection's tables and return what was done."""
    world = draw(case.seed, requests)
    if case.fault != CONTROL:
        FAULTS[case.fault](world, case.severity)
        world.cause = case.fault
    confound(world, case.confounder)
    record(world, connection)
    return world


def tables() -> duckdb.DuckDBPyConnection:
    """Return an in-memory database with the public tables, all empty."""
    connection = duckdb.connect(":memory:")
    connection.execute("set global TimeZone = 'UTC'")
    for view in VIEWS.values():
        columns = ", ".join(f'"{column.name}" {column.type}' for column in view.columns)
        connection.execute(f"create table {view.name} ({columns})")
    return connection


def lifted(world: World, connection: duckdb.DuckDBPyConnection) -> bool:
    """Say whether the fault was an incident at all: P99 of the metric rose by a third, by the raw values."""
    column = f"{world.metric}_seconds"
    start = np.datetime64(1_790_000_000_000_000 + int(world.fault_from * 1e6), "us").item()
    row = connection.execute(
        f"select quantile_disc({column}, 0.99) filter (where ts < ?::timestamp at time zone 'UTC'), "
        f"quantile_disc({column}, 0.99) filter (where ts >= ?::timestamp at time zone 'UTC') from requests",
        [start] * 2,
    ).fetchone()
    return row is not None and None not in row[:2] and row[1] > 1.33 * row[0]

"""Every objective, shipped or made up, is counted alike in SQL and in Python, live and stored, and can be exported."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import duckdb
import numpy as np
import pytest

from analytics.slo import DIMENSIONS, Objective, Threshold, default_objective, verdicts
from benchmarks.slo.budgets import (
    JOINT_LIMITS,
    NOW,
    TTFT_LIMITS,
    WINDOW,
    Case,
    cases,
    drop_raw,
    edited,
    roll_up,
    wrong_events,
)
from benchmarks.slo.month import Request, month, store
from benchmarks.slo.promtool import check_rules, promtool
from collector.answers.objective_files import load_objectives
from collector.answers.objective_scope import just_after
from collector.answers.objective_windows import reach_of, window_counts
from collector.answers.status import status
from collector.store.reader import DuckReader
from tests.support.public_store import public_store

SAMPLES = load_objectives(Path(__file__).parents[2] / "sample_data" / "objectives")
MADE_UP = (
    default_objective(),
    Objective("availability", target=0.999, by=()),
    Objective("only-long", (Threshold("e2e_seconds", None, {"64k-256k": 20.0}),), by=("model", "region")),
    Objective("one-tenant", (Threshold("tpot_seconds", 0.05),), only={"tenant": ("acme",)}, by=("model", "tenant")),
)
OBJECTIVES = {objective.name: objective for objective in (*MADE_UP, *SAMPLES)}
CASES = [*cases(TTFT_LIMITS, every=16), *cases(JOINT_LIMITS, every=16)]
every_objective = pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES.keys())


@pytest.fixture(scope="module")
def requests() -> Sequence[Request]:
    return month(1_500)


@pytest.fixture(scope="module")
def untouched(requests: Sequence[Request]) -> duckdb.DuckDBPyConnection:
    found = public_store()
    store(found, requests)
    return found


@pytest.fixture
def connection(requests: Sequence[Request]) -> duckdb.DuckDBPyConnection:
    found = public_store()
    store(found, requests)
    return found


@every_objective
def test_sql_and_python_judge_alike(objective: Objective, untouched: duckdb.DuckDBPyConnection) -> None:
    objective = replace(objective, exclusions=())
    columns = DuckReader(untouched).run("select * from requests")
    kept = np.ones(len(columns["ts"]), dtype=bool)
    for name, allowed in objective.only.items():
        kept &= np.isin(columns[name], allowed)
    judged = verdicts(objective, columns)[kept].tolist()
    whole = window_counts(DuckReader(untouched), objective, [NOW - timedelta(days=60)], NOW + timedelta(days=2))
    for outcome in ("good", "bad", "excluded"):
        assert sum(getattr(tallies[0], outcome) for tallies in whole.values()) == judged.count(outcome)


@every_objective
def test_status_answers_in_the_contracts_shape(objective: Objective, untouched: duckdb.DuckDBPyConnection) -> None:
    found = status(DuckReader(untouched), NOW, objectives=(objective,))["objectives"]
    assert isinstance(found, list)
    for row in found:
        assert row["objective"] == objective.name
        assert row["state"] in ("ok", "burning", "exhausted", "no_traffic", "no_data")
        assert (row["ratio"] is None) == (row["good"] + row["bad"] == 0)
        if row["ratio"] is not None:
            assert row["ratio"] == row["good"] / (row["good"] + row["bad"])
            spent = (1 - row["ratio"]) / (1 - objective.target)
            assert row["budget_remaining"] == pytest.approx(1 - spent)
        assert all(name in objective.by or row[name] is None for name in DIMENSIONS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "+".join(case.objective.by) or "everything")
def test_budgets_are_right_to_the_event_live_rolled_up_and_after_an_edit(
    case: Case, requests: Sequence[Request], connection: duckdb.DuckDBPyConnection
) -> None:
    changed = edited(case)
    assert [wrong_events(connection, requests, one) for one in (case, changed)] == [0, 0]
    roll_up(connection, [case.objective, changed.objective])
    assert reach_of(DuckReader(connection), case.objective, NOW - WINDOW, just_after(NOW)).stored_before is None
    drop_raw(connection)
    assert reach_of(DuckReader(connection), case.objective, NOW - WINDOW, just_after(NOW)).stored_before is not None
    assert [wrong_events(connection, requests, one) for one in (case, changed)] == [0, 0]


def test_an_edit_without_old_raw_requests_says_since_when_it_is_exact(connection: duckdb.DuckDBPyConnection) -> None:
    case = CASES[0]
    roll_up(connection, [case.objective])
    drop_raw(connection)
    (kept,) = status(DuckReader(connection), NOW, objectives=(case.objective,))["objectives"]  # type: ignore[misc]
    (fresh,) = status(DuckReader(connection), NOW, objectives=(edited(case).objective,))["objectives"]  # type: ignore[misc]
    assert kept["exact_since"] < "2026-02-04"
    assert fresh["exact_since"] >= "2026-02-24"


def test_a_server_that_stores_minutes_counts_the_same_without_reading_old_requests(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    case = CASES[0]
    roll_up(connection, [case.objective])
    reader = DuckReader(connection)
    quick = reach_of(reader, case.objective, NOW - WINDOW, just_after(NOW), raw_window=timedelta(hours=2))
    assert quick.stored_before is not None and quick.stored_before > NOW - timedelta(hours=4)
    (slow_row,), (quick_row,) = (
        status(reader, NOW, objectives=(case.objective,), raw_window=window)["objectives"]  # type: ignore[misc]
        for window in (None, timedelta(hours=2))
    )
    for name in ("good", "bad", "excluded", "burn_rate", "state", "budget_remaining"):
        assert quick_row[name] == slow_row[name]


@pytest.mark.skipif(promtool() is None, reason="promtool (Debian package prometheus) is not installed")
def test_prometheus_accepts_the_rules_of_every_objective(tmp_path: Path) -> None:
    done: subprocess.CompletedProcess[str] = check_rules(tuple(OBJECTIVES.values()), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr

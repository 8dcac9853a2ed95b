"""Counts, decisions and incidents are kept once, kept right when data come late, and keep what people said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.answers.status import status
from collector.api.services import Services
from collector.importer.run import Options, import_sources
from collector.importer.sources import recognise
from collector.jobs.build import build_scheduler
from collector.jobs.decisions import DecisionKeeper
from collector.jobs.incidents import keep_incidents
from collector.jobs.objectives import ObjectiveCounter
from tests.support.recordings import copy_of, session_store
from tests.unit.collector.jobs.support import Clock, ask, parts_of

COUNTS = "select sum(good), sum(bad), sum(excluded), sum(unattributed_bad) from objective_counts"


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def parts(clock: Clock, tmp_path: Path) -> Iterator[Services]:
    """The recording, a few seconds after its end."""
    with parts_of(copy_of(session_store(), tmp_path), clock) as found:
        newest = found.store.reader().newest()
        assert newest is not None
        clock.now = newest + timedelta(seconds=5)
        yield found


def test_kept_counts_are_those_of_the_requests_and_counting_again_changes_nothing(
    parts: Services, clock: Clock
) -> None:
    clock.forward(minutes=2)
    (row,) = status(parts.store.reader(), clock.now)["objectives"]  # type: ignore[misc]
    counter = ObjectiveCounter(parts)
    counter.run()
    first = ask(parts, COUNTS)
    assert first == [(row["good"], row["bad"], row["excluded"], row["unattributed_bad"])]
    rows = ask(parts, "select count(*) from objective_counts")
    for minutes in (1, 1, 61):
        clock.forward(minutes=minutes)
        counter.run()
        assert ask(parts, COUNTS) == first
        assert ask(parts, "select count(*) from objective_counts") == rows
    (again,) = status(parts.store.reader(), clock.now)["objectives"]  # type: ignore[misc]
    assert [again[key] for key in ("good", "bad", "ratio")] == [row[key] for key in ("good", "bad", "ratio")]


def test_a_request_that_comes_late_counts_in_its_own_minute(clock: Clock, tmp_path: Path) -> None:
    clock.now = datetime(2026, 5, 1, 12, 10, 30, tzinfo=UTC)
    early, late = tmp_path / "one" / "requests.csv", tmp_path / "two" / "requests.csv"
    for path, lines in ((early, ["12:01:00Z,m,ok,0.5", "12:02:00Z,m,ok,9.5"]), (late, ["12:01:30Z,m,ok,8.0"])):
        path.parent.mkdir()
        path.write_text("\n".join(["ts,model,status,ttft_seconds", *(f"2026-05-01T{line}" for line in lines)]) + "\n")
    with parts_of(None, clock) as parts:
        counter = ObjectiveCounter(parts)
        import_sources(parts.store, list(recognise((str(early),)).sources), Options(), lambda _: None)
        counter.run()
        by_minute = "select minute(ts), sum(good), sum(bad) from objective_counts group by all order by all"
        assert ask(parts, by_minute) == [(1, 1, 0), (2, 0, 1)]
        import_sources(parts.store, list(recognise((str(late),)).sources), Options(), lambda _: None)
        clock.forward(minutes=1)
        counter.run()
        assert ask(parts, by_minute) == [(1, 1, 1), (2, 0, 1)]


def test_old_requests_that_an_import_brings_count_on_their_days_and_no_other_day_is_counted_again(
    clock: Clock, tmp_path: Path
) -> None:
    clock.now = datetime(2026, 5, 20, 12, 10, 30, tzinfo=UTC)

    def bring(parts: Services, name: str, *lines: str) -> None:
        path = tmp_path / name / "requests.csv"
        path.parent.mkdir()
        path.write_text("\n".join(["ts,model,status,ttft_seconds", *lines]) + "\n")
        import_sources(parts.store, list(recognise((str(path),)).sources), Options(), lambda _: None)

    by_day = "select day(ts), sum(good), sum(bad) from objective_counts group by all order by all"
    with parts_of(None, clock) as parts:
        counter = ObjectiveCounter(parts)
        bring(parts, "one", "2026-05-01T10:00:00Z,m,ok,0.5", "2026-05-20T12:00:00Z,m,ok,0.5")
        counter.run()
        assert ask(parts, by_day) == [(1, 1, 0), (20, 1, 0)]
        bring(parts, "two", "2026-05-01T23:59:59Z,m,ok,4.0", "2026-05-09T10:00:00Z,m,ok,9.0")
        clock.forward(hours=1)
        counter.run()
        assert ask(parts, by_day) == [(1, 1, 0), (2, 0, 1), (9, 0, 1), (20, 1, 0)]


def test_a_decision_is_stored_when_it_differs_or_every_five_minutes(parts: Services, clock: Clock) -> None:
    keeper = DecisionKeeper(parts)
    count = "select count(*) from recommendations"
    keeper.run()
    (first,) = ask(parts, "select pool, model, action, valid_until, document, grade from recommendations")
    assert first[1] == "tiny-llama" and '"because"' in str(first[4]) and first[5] is None
    clock.forward(seconds=1)
    keeper.run()
    assert ask(parts, count) == [(1,)]
    parts.pins.pin(str(first[0]), 3, clock.now + timedelta(hours=1), "me")
    clock.forward(seconds=1)
    keeper.run()
    assert ask(parts, "select action, proposed from recommendations order by ts desc limit 1") == [("pinned", 3)]
    clock.forward(minutes=6)
    keeper.run()
    assert ask(parts, count) == [(3,)]


@pytest.mark.parametrize(
    ("proposed", "per_minute", "ttft", "grade"),
    [(1, 120, 9.0, "short"), (9, 60, 0.5, "excess"), (2, 120, 0.5, "right"), (1, 0, 0.0, "unknown")],
)
def test_a_decision_is_graded_by_what_came_after_its_horizon(
    proposed: int, per_minute: int, ttft: float, grade: str, clock: Clock, tmp_path: Path
) -> None:
    clock.now = datetime(2026, 5, 1, 12, tzinfo=UTC)
    with parts_of(None, clock) as parts:
        told = {"forecast_horizon_seconds": 180.0, "capacity_per_instance": {"value": 1.0}, "proposed": proposed}
        row: dict[str, object] = {"ts": clock.now, "pool": "p", "model": "m", "current": 1, "action": "hold"}
        row |= {"proposed": proposed, "document": json.dumps(told)}
        parts.store.append("recommendations", [row])
        if per_minute:
            begin = clock.now + timedelta(minutes=1)
            minutes = [(begin + timedelta(minutes=n)).isoformat() for n in range(5)]
            files = {
                "requests.csv": ["ts,model,ttft_seconds,e2e_seconds", *(f"{at},m,{ttft},{ttft + 1}" for at in minutes)],
                "engine_samples.csv": ["ts,instance,model,first_tokens", *(f"{at},i,m,{per_minute}" for at in minutes)],
            }
            for name, lines in files.items():
                (tmp_path / name).write_text("\n".join(lines) + "\n")
            import_sources(parts.store, list(recognise((str(tmp_path),)).sources), Options(), lambda _: None)
        keeper, grades = DecisionKeeper(parts), "select grade from recommendations where ts = '2026-05-01 12:00:00+00'"
        clock.forward(minutes=4)
        keeper.run()
        assert ask(parts, grades) == [(None,)], "its horizon has not passed"
        clock.forward(minutes=6)
        keeper.run()
        assert ask(parts, grades) == [(grade,)]


def test_an_incident_is_kept_once_and_a_persons_verdict_stands(parts: Services, clock: Clock) -> None:
    keep_incidents(parts)
    found = ask(parts, "select incident, model, metric, started_at, cause, human_verdict from incidents")
    assert found and all(row[5] is None for row in found)
    parts.store.run("collector.api", ["incident_verdict"], {"incident": found[0][0], "verdict": "right", "note": "yes"})
    clock.forward(seconds=30)
    keep_incidents(parts)
    again = ask(parts, "select incident, human_verdict, human_note from incidents")
    assert len(again) == len({row[0] for row in again}) == len(found)
    assert (found[0][0], "right", "yes") in again


def test_an_empty_store_gives_the_jobs_nothing_to_do(clock: Clock) -> None:
    with parts_of(None, clock) as parts:
        scheduler = build_scheduler(parts)
        for job in scheduler.jobs:
            scheduler.run_once(job)
        assert {"join", "decisions", "alerts", "objective_counts", "incidents", "upkeep"} <= set(scheduler.reports)
        assert {report.error for report in scheduler.reports.values()} == {None}

"""The course of a model: steps that fit a chart, missing is null, scopes narrow, changes mark."""

from __future__ import annotations

import doctest
from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np
import pytest

from collector.answers import timeline as module
from collector.answers.timeline import MAX_POINTS, STEPS_SECONDS, inventory, plain_cell, step_for, timeline
from collector.store.reader import DuckReader
from signals.errors import ConfigError
from tests.support.public_store import public_store

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def store() -> duckdb.DuckDBPyConnection:
    connection = public_store()
    for number, (model, tenant, status, ttft) in enumerate(
        [("m", "acme", "ok", 0.5), ("m", "acme", "error", None), ("m", "globex", "ok", 1.5), ("n", "acme", "ok", 9.0)]
    ):
        connection.execute(
            "insert into requests (ts, model, tenant, status, ttft_seconds, request_id, source, length_bucket) "
            "values ($ts, $model, $tenant, $status, $ttft, 'r', 'engine', '0-1k')",
            {
                "ts": NOW - timedelta(seconds=300 + number),
                "model": model,
                "tenant": tenant,
                "status": status,
                "ttft": ttft,
            },
        )
    for instance, queue in (("a", 3), ("a", 5), ("b", 2)):
        connection.execute(
            "insert into engine_samples (ts, instance, model, scrape_state, queue_depth) "
            "values ($ts, $i, 'm', 'ok', $q)",
            {"ts": NOW - timedelta(seconds=301), "i": instance, "q": queue},
        )
    connection.execute(
        "insert into changes (ts, kind, model, summary) "
        "values ($ts, 'release', null, 'v2'), ($ts, 'note', 'other', 'x')",
        {"ts": NOW - timedelta(seconds=100)},
    )
    return connection


def _rows(answer: dict[str, object], name: str) -> list[dict[str, object]]:
    found = answer[name]
    assert isinstance(found, list)
    return found


def test_the_examples_hold() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("seconds", [60.0, 900.0, 3_600.0, 86_400.0, 604_800.0, 28 * 86_400.0])
def test_a_window_fits_a_chart(seconds: float) -> None:
    step = step_for(seconds)
    assert seconds / step <= MAX_POINTS
    smaller = [other for other in STEPS_SECONDS if other < step]
    assert all(seconds / other > MAX_POINTS for other in smaller)


def test_steps_count_requests_and_leave_out_what_is_missing(store: duckdb.DuckDBPyConnection) -> None:
    answer = timeline(DuckReader(store), NOW, model="m")
    points = _rows(answer, "points")
    assert (answer["step_seconds"], sum(int(str(point["requests"])) for point in points)) == (10, 3)
    assert sum(int(str(point["failed"])) for point in points) == 1
    assert max(float(str(point["ttft_p99"])) for point in points if point["ttft_p99"] is not None) == 1.5
    assert all(str(point["ts"]).endswith("Z") for point in points)


def test_gauges_are_averaged_within_an_instance_and_added_over_instances(store: duckdb.DuckDBPyConnection) -> None:
    (engine,) = _rows(timeline(DuckReader(store), NOW, model="m"), "engine")
    assert (engine["instances"], engine["queue_depth"], engine["running"]) == (2, 6.0, None)
    (engine,) = _rows(timeline(DuckReader(store), NOW, model="m", instance="b"), "engine")
    assert (engine["instances"], engine["queue_depth"]) == (1, 2.0)


@pytest.mark.parametrize(
    ("scope", "count"),
    [({}, 4), ({"tenant": "acme"}, 3), ({"model": "n"}, 1), ({"length_bucket": "1k-4k"}, 0), ({"instance": "a"}, 0)],
)
def test_a_scope_narrows_the_requests(scope: dict[str, str], count: int, store: duckdb.DuckDBPyConnection) -> None:
    points = _rows(timeline(DuckReader(store), NOW, **scope), "points")  # type: ignore[arg-type]
    assert sum(int(str(point["requests"])) for point in points) == count


def test_changes_of_the_model_and_of_everything_mark_the_chart(store: duckdb.DuckDBPyConnection) -> None:
    assert [row["summary"] for row in _rows(timeline(DuckReader(store), NOW, model="m"), "changes")] == ["v2"]


def test_the_window_is_given_or_before_now(store: duckdb.DuckDBPyConnection) -> None:
    reader = DuckReader(store)
    assert _rows(timeline(reader, NOW, window_seconds=60.0), "points") == []
    given = timeline(reader, NOW, start=NOW - timedelta(seconds=310), end=NOW - timedelta(seconds=290))
    assert sum(int(str(point["requests"])) for point in _rows(given, "points")) == 4
    with pytest.raises(ConfigError, match="the window is empty"):
        timeline(reader, NOW, start=NOW, end=NOW - timedelta(seconds=1))


def test_the_inventory_lists_what_there_is_to_choose_from(store: duckdb.DuckDBPyConnection) -> None:
    store.execute(
        "create view data_quality as select 'k' as kind, 's' as source, now() as first_at, now() as last_at, "
        "1 as count, 'x' as example"
    )
    found = inventory(DuckReader(store), NOW)
    assert (found["models"], found["tenants"], found["length_buckets"]) == (["m", "n"], ["acme", "globex"], ["0-1k"])
    assert [(row["instance"], row["seconds_ago"]) for row in _rows(found, "instances")] == [("a", 301.0), ("b", 301.0)]


def test_cells_are_plain_values() -> None:
    assert plain_cell(np.datetime64("NaT")) is None
    assert plain_cell(np.float64("nan")) is None
    assert plain_cell(np.int64(3)) == 3
    assert plain_cell(np.array([1, 2])) == [1, 2]
    assert plain_cell(np.datetime64("2026-05-01T00:00:00", "us")) == "2026-05-01T00:00:00.000000Z"

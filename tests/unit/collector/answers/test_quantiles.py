"""Quantile answers: exact from requests, binned where many, stored bins where raw is gone, intervals from pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pytest

from analytics.slo import Objective, Threshold
from benchmarks.slo.recorded_edges import RUNS, read_run, windows
from collector.answers.quantiles import page_quantiles, request_quantiles, shown_metric
from collector.store.reader import DuckReader
from signals.bins import bin_of
from tests.support.public_store import public_store

PAYLOADS = Path(__file__).parents[4].parent / "shared" / "payloads"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OBJECTIVE = Objective("o", (Threshold("ttft_seconds", 2.0),))
MODEL = ("m", None, None, None, None, None)


@pytest.fixture
def store() -> duckdb.DuckDBPyConnection:
    return public_store()


def fill(store: duckdb.DuckDBPyConnection, values: list[float], hours_ago: float = 1.0) -> None:
    store.executemany(
        """insert into requests (ts, request_id, model, status, source, ttft_seconds)
           values (?, 'r', 'm', 'ok', 'engine', ?)""",
        [(NOW - timedelta(hours=hours_ago), value) for value in values],
    )


def test_binned_and_exact_agree_within_one_percent(store: duckdb.DuckDBPyConnection) -> None:
    values = np.random.default_rng(1).lognormal(0, 1, 500).tolist()
    fill(store, values)
    exact = request_quantiles(DuckReader(store), OBJECTIVE, NOW - timedelta(days=1), NOW)[MODEL]
    binned = request_quantiles(DuckReader(store), OBJECTIVE, NOW - timedelta(days=1), NOW, binned=True)[MODEL]
    assert (exact.basis, binned.basis) == ("records", "bins")
    assert exact.quantiles[1].value == sorted(values)[494]
    for one, other in zip(exact.quantiles, binned.quantiles, strict=True):
        assert other.value == pytest.approx(one.value, rel=0.01)


def test_zero_latencies_have_their_own_bin(store: duckdb.DuckDBPyConnection) -> None:
    fill(store, [0.0, 0.0, 0.0, 1.0])
    found = request_quantiles(DuckReader(store), OBJECTIVE, NOW - timedelta(days=1), NOW, binned=True)[MODEL]
    assert found.quantiles[0].value == 0.0


def test_stored_hourly_bins_stand_in_for_requests_that_are_gone(store: duckdb.DuckDBPyConnection) -> None:
    fill(store, [1.0] * 10)
    for value, count in ((0.5, 5), (8.0, 5)):
        store.execute(
            """insert into latency_bins (ts, step_seconds, metric, model, bin, count)
               values (?, 3600, 'ttft_seconds', 'm', ?, ?)""",
            [NOW - timedelta(hours=20), bin_of(value), count],
        )
    found = request_quantiles(
        DuckReader(store), OBJECTIVE, NOW - timedelta(days=1), NOW, bins_before=NOW - timedelta(hours=10)
    )[MODEL]
    assert found.quantiles[0].count == 20
    assert found.quantiles[0].value == pytest.approx(1.0, rel=0.01)
    assert found.quantiles[1].value == pytest.approx(8.0, rel=0.01)


def test_pages_of_instances_with_unequal_edges_are_merged_without_rebinning(store: duckdb.DuckDBPyConnection) -> None:
    rows = (("a", 1.0, 2.5, 50), ("b", 2.0, 2.2, 50))
    store.executemany(
        """insert into engine_bins (ts, interval_seconds, instance, model, metric, edge_lo, edge_hi, count)
           values (?, 5, ?, 'm', 'ttft_seconds', ?, ?, ?)""",
        [(NOW - timedelta(minutes=1), *row) for row in rows],
    )
    found = page_quantiles(DuckReader(store), OBJECTIVE, NOW - timedelta(hours=1), NOW)[MODEL]
    median, tail = found.quantiles
    assert ((median.low, median.high), (tail.low, tail.high)) == ((1.0, 2.2), (2.0, 2.5))
    assert (median.resolved, tail.resolved, found.basis) == (False, True, "edges")


def test_an_availability_objective_shows_the_whole_request() -> None:
    assert shown_metric(Objective("up")) == "e2e_seconds"
    assert shown_metric(OBJECTIVE) == "ttft_seconds"


@pytest.mark.skipif(not PAYLOADS.is_dir(), reason="recorded payloads are not beside the repository")
@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_page_gives_exactly_the_bucket_that_holds_the_truth(name: str) -> None:
    found = list(windows(read_run(PAYLOADS / name, PAYLOADS / f"{name}-otlp")))
    assert found
    assert [window for window in found if window.interval != window.bucket] == []
    assert all(window.resolved == (window.bucket[1] <= 1.5 * window.bucket[0]) for window in found)

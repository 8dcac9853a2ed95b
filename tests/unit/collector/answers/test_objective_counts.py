"""Minutes are counted once, with what only counters know beside them, and from pages only where nothing is recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from analytics.slo import Objective, Threshold
from collector.answers.objective_counts import objective_counts
from collector.answers.objective_series import ObjectiveSeries
from collector.store.reader import Columns, DuckReader
from signals.views.judgements import OBJECTIVE_COUNTS
from tests.support.public_store import public_store

HOUR = datetime(2026, 3, 1, 12, tzinfo=UTC)
TTFT = (Threshold("ttft_seconds", 2.5),)


@pytest.fixture
def store() -> duckdb.DuckDBPyConnection:
    return public_store()


def insert(store: duckdb.DuckDBPyConnection, table: str, minute: float, **row: object) -> None:
    base: dict[str, object] = {"ts": HOUR + timedelta(minutes=minute), "model": "m"}
    if table == "requests":
        base |= {"request_id": "r", "status": "ok", "source": "engine", "ttft_seconds": 1.0, "e2e_seconds": 2.0}
    elif table != "objective_counts":
        base |= {"instance": "i"}
    row = base | row
    store.execute(f"insert into {table} ({', '.join(row)}) values ({', '.join('?' for _ in row)})", list(row.values()))


def counted(store: duckdb.DuckDBPyConnection, *objectives: Objective, start: int = 0, end: int = 60) -> Columns:
    return objective_counts(
        DuckReader(store), objectives, HOUR + timedelta(minutes=start), HOUR + timedelta(minutes=end)
    )


def test_the_columns_are_those_of_the_view(store: duckdb.DuckDBPyConnection) -> None:
    insert(store, "requests", 1)
    found = counted(store, Objective("o", TTFT))
    assert set(found) == set(OBJECTIVE_COUNTS.column_names())
    assert found["ts"].dtype == np.dtype("datetime64[us]")
    assert (found["good"].tolist(), found["exact"].tolist()) == ([1], [True])


def test_no_objective_or_no_traffic_is_no_row(store: duckdb.DuckDBPyConnection) -> None:
    assert len(counted(store)["ts"]) == 0
    assert len(counted(store, Objective("o", TTFT))["ts"]) == 0


def test_a_request_counts_in_the_minute_of_its_first_token_for_ttft_and_of_its_finish_otherwise(
    store: duckdb.DuckDBPyConnection,
) -> None:
    insert(store, "requests", 0.5, ttft_seconds=40.0, e2e_seconds=100.0)
    ttft, e2e = Objective("ttft", TTFT), Objective("e2e", (Threshold("e2e_seconds", 200.0),))
    found = counted(store, ttft, e2e)
    minutes = [(ts - np.datetime64(HOUR.replace(tzinfo=None))) / np.timedelta64(60, "s") for ts in found["ts"]]
    assert minutes == [1, 2]


def test_half_an_hour_asks_the_whole_hour_for_its_source(store: duckdb.DuckDBPyConnection) -> None:
    insert(store, "requests", 1, source="gateway")
    insert(store, "requests", 40, source="engine")
    assert len(counted(store, Objective("o", TTFT), start=30)["ts"]) == 0


def test_pages_fill_hours_without_requests_and_are_marked_inexact(store: duckdb.DuckDBPyConnection) -> None:
    insert(store, "requests", 1)
    for minute in (2, 62):
        insert(
            store, "engine_bins", minute, interval_seconds=5.0, metric="ttft_seconds", edge_lo=1.0, edge_hi=2.5, count=9
        )
    found = counted(store, Objective("o", TTFT), end=120)
    assert (found["good"].tolist(), found["exact"].tolist()) == ([1, 9], [True, False])


def test_what_only_counters_know_is_bad_for_whole_models_and_apart_for_tenants(
    store: duckdb.DuckDBPyConnection,
) -> None:
    insert(store, "requests", 3, tenant="acme")
    insert(store, "engine_samples", 3.5, scrape_state="ok", rejected=2.0)
    insert(store, "engine_samples", 9.5, scrape_state="ok", rejected=1.0)
    whole = counted(store, Objective("whole", TTFT))
    part = counted(store, Objective("part", TTFT, by=("model", "tenant")))
    assert list(zip(whole["bad"].tolist(), whole["unattributed_bad"].tolist(), strict=True)) == [(2, 2), (1, 1)]
    rows = zip(part["tenant"].tolist(), part["bad"].tolist(), part["unattributed_bad"].tolist(), strict=True)
    assert sorted(rows, key=str) == [("acme", 0, 0), (None, 0, 1), (None, 0, 2)]


def test_an_abort_that_a_request_records_later_is_not_counted_twice(store: duckdb.DuckDBPyConnection) -> None:
    for second, running in ((0, 0.0), (5, 0.0)):
        insert(
            store, "engine_samples", 1 + second / 60, scrape_state="ok",
            first_tokens=float(second > 0), finished=0.0, running=running,
        )  # fmt: skip
    insert(store, "requests", 1, status="aborted", source="gateway", finished_at=HOUR + timedelta(minutes=5))
    found = counted(store, Objective("o", TTFT))
    assert (found["good"].tolist(), found["unattributed_bad"].tolist()) == ([1], [0])


def test_counters_for_prometheus_begin_with_the_server(store: duckdb.DuckDBPyConnection) -> None:
    objective = Objective("o", TTFT)
    for minute, good in ((0, 5), (10, 7), (20, 1)):
        insert(
            store, "objective_counts", minute, objective="o", revision=objective.revision, good=good, bad=1,
            excluded=0, unattributed_bad=0, exact=True,
        )  # fmt: skip
    series = ObjectiveSeries(HOUR + timedelta(minutes=5))
    rows = [{"objective": "o", "model": "m", "state": "no_data"}]
    page = series.page(DuckReader(store), [objective], rows)
    families = {family.name: family.samples for family in text_string_to_metric_families(page)}
    assert {name: [(sample.labels, sample.value) for sample in samples] for name, samples in families.items()} == {
        "sloscope_objective_good": [({"objective": "o", "model": "m"}, 8.0)],
        "sloscope_objective_bad": [({"objective": "o", "model": "m"}, 2.0)],
        "sloscope_objective_blind": [({"objective": "o", "model": "m"}, 1.0)],
    }
    store.execute("update objective_counts set good = 1").fetchall()
    assert 'sloscope_objective_good_total{objective="o",model="m"} 8' in series.page(DuckReader(store), [objective], [])


def stops(store: duckdb.DuckDBPyConnection, late: int) -> None:
    """Ten clients got a first token and pressed Stop; the page counted `late` of those tokens as late."""
    insert(store, "requests", 1)
    for minute, first_tokens in ((1, 0.0), (3, 11.0), (4, 0.0)):
        insert(
            store, "engine_samples", minute + 0.5, scrape_state="ok",
            first_tokens=first_tokens, finished=first_tokens / 11, running=0.0,
        )  # fmt: skip
    for low, high, count in ((0.5, 2.5, 11 - late), (2.5, 5.0, late)):
        insert(
            store,
            "engine_bins",
            3.5,
            interval_seconds=5.0,
            metric="ttft_seconds",
            edge_lo=low,
            edge_hi=high,
            count=count,
        )


def test_pressing_stop_after_a_good_first_token_is_not_bad(store: duckdb.DuckDBPyConnection) -> None:
    stops(store, late=0)
    found = counted(store, Objective("o", TTFT))
    assert (found["good"].sum(), found["bad"].sum()) == (1, 0)


def test_pressing_stop_after_a_late_first_token_is_bad(store: duckdb.DuckDBPyConnection) -> None:
    stops(store, late=4)
    found = counted(store, Objective("o", TTFT))
    assert (found["good"].sum(), found["bad"].sum()) == (1, 4)


def test_an_objective_on_the_whole_request_cannot_know_and_counts_every_abort(
    store: duckdb.DuckDBPyConnection,
) -> None:
    stops(store, late=0)
    found = counted(store, Objective("o", (Threshold("e2e_seconds", 30.0),)))
    assert found["bad"].sum() == 10

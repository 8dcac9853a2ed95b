"""Status keeps the contract's shape and counts recorded and invented traffic to the event."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from analytics.slo import Exclusion, Objective, Threshold
from collector.answers.status import status
from collector.answers.windows import window_name
from collector.store.reader import DuckReader
from tests.support.public_store import public_store
from tests.unit.collector.answers.recorded_run import load_run

PAYLOADS = Path(__file__).parents[4].parent / "shared" / "payloads"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CONTRACT_KEYS = {
    "objective", "metric", "model", "tenant", "length_bucket", "window", "target", "good", "bad", "excluded",
    "unattributed_bad", "ratio", "coverage", "budget_remaining", "burn_rate", "state", "p50", "p99", "p99_interval",
}  # fmt: skip


@pytest.fixture
def store() -> duckdb.DuckDBPyConnection:
    return public_store()


def add(store: duckdb.DuckDBPyConnection, table: str = "requests", **row: object) -> None:
    if table == "requests":
        row = {
            "ts": NOW - timedelta(minutes=2),
            "request_id": "r",
            "model": "m",
            "status": "ok",
            "source": "engine",
        } | row
    names, marks = ", ".join(row), ", ".join("?" for _ in row)
    store.execute(f"insert into {table} ({names}) values ({marks})", list(row.values()))


def scrape(store: duckdb.DuckDBPyConnection, seconds_ago: float = 5, **row: object) -> None:
    add(
        store,
        "engine_samples",
        **{"ts": NOW - timedelta(seconds=seconds_ago), "instance": "i", "model": "m", "scrape_state": "ok", **row},
    )


def rows(store: duckdb.DuckDBPyConnection, *objectives: Objective, now: datetime = NOW) -> list[dict[str, object]]:
    found = status(DuckReader(store), now, objectives=objectives or None)["objectives"]
    assert isinstance(found, list)
    return found


def test_the_built_in_objective_is_labelled_and_has_every_contract_key(store: duckdb.DuckDBPyConnection) -> None:
    add(store, ttft_seconds=0.5, e2e_seconds=1.0)
    (row,) = rows(store)
    assert set(row) >= CONTRACT_KEYS
    assert (row["label"], row["metric"], row["window"], row["target"]) == ("default", "ttft_seconds", "28d", 0.99)
    assert (row["good"], row["bad"], row["ratio"], row["state"]) == (1, 0, 1.0, "ok")
    assert set(row["burn_rate"]) >= {"5m", "1h"}


def test_an_empty_store_has_no_rows_for_the_default(store: duckdb.DuckDBPyConnection) -> None:
    assert rows(store) == []


def test_a_scraped_idle_model_has_no_traffic_and_a_failing_one_no_data(store: duckdb.DuckDBPyConnection) -> None:
    scrape(store, model="idle")
    scrape(store, model="blind", scrape_state="failed")
    states = {row["model"]: row["state"] for row in rows(store)}
    assert states == {"idle": "no_traffic", "blind": "no_data"}


def test_a_model_that_went_dark_is_no_data_however_good_it_was(store: duckdb.DuckDBPyConnection) -> None:
    add(store, ts=NOW - timedelta(minutes=20), ttft_seconds=0.5, e2e_seconds=1.0)
    scrape(store, seconds_ago=1200)
    scrape(store, seconds_ago=5, scrape_state="failed")
    (row,) = rows(store)
    assert (row["state"], row["good"]) == ("no_data", 1)


def test_an_objective_that_names_an_unknown_model_still_has_its_row(store: duckdb.DuckDBPyConnection) -> None:
    (row,) = rows(store, Objective("o", (Threshold("ttft_seconds", 1.0),), only={"model": ("never-seen",)}))
    assert (row["model"], row["state"], row["ratio"], row["p99"]) == ("never-seen", "no_data", None, None)


def test_gateway_records_stand_alone_and_engine_halves_are_not_added(store: duckdb.DuckDBPyConnection) -> None:
    for source in ("gateway", "joined", "engine", "engine"):
        add(store, source=source, ttft_seconds=0.5, e2e_seconds=1.0)
    (row,) = rows(store)
    assert (row["good"], row["sli_source"]) == (2, "gateway")


def test_each_length_bucket_has_its_own_threshold(store: duckdb.DuckDBPyConnection) -> None:
    objective = Objective(
        "o", (Threshold("ttft_seconds", 2.0, {"64k-256k": 60.0}),), by=("model", "length_bucket"), target=0.9
    )
    for bucket, seconds in (("0-1k", 1.0), ("0-1k", 3.0), ("64k-256k", 59.0), ("64k-256k", 61.0)):
        add(store, length_bucket=bucket, ttft_seconds=seconds, e2e_seconds=seconds + 1)
    assert [(row["length_bucket"], row["good"], row["bad"]) for row in rows(store, objective)] == [
        ("0-1k", 1, 1),
        ("64k-256k", 1, 1),
    ]


def test_excluded_load_tests_leave_an_audit_trail(store: duckdb.DuckDBPyConnection) -> None:
    exclusion = Exclusion("load-test", "capacity test", "sre on call", only={"tenant": ("loadgen",)})
    objective = Objective("o", (Threshold("ttft_seconds", 2.0),), exclusions=(exclusion,))
    add(store, tenant="loadgen", ttft_seconds=50.0, e2e_seconds=51.0)
    add(store, tenant="acme", ttft_seconds=1.0, e2e_seconds=2.0)
    (row,) = rows(store, objective)
    assert (row["good"], row["bad"], row["excluded"]) == (1, 0, 1)
    assert row["exclusions"] == [
        {"name": "load-test", "reason": "capacity test", "decided_by": "sre on call", "events": 1}
    ]


def test_pages_answer_where_no_request_is_recorded(store: duckdb.DuckDBPyConnection) -> None:
    for low, high, count in ((1.0, 2.5, 90), (2.5, 5.0, 10)):
        add(
            store, "engine_bins", ts=NOW - timedelta(minutes=1), interval_seconds=5, instance="i", model="m",
            metric="ttft_seconds", edge_lo=low, edge_hi=high, count=count,
        )  # fmt: skip
    (row,) = rows(store, Objective("o", (Threshold("ttft_seconds", 2.5),)))
    assert (row["good"], row["bad"], row["sli_source"], row["undecided"]) == (90, 10, "page", 0)
    assert (row["p99"], row["p99_interval"], row["p99_resolved"]) == (None, [2.5, 5.0], False)
    assert "--custom-histogram-buckets" in row["hint"]


def test_what_an_edge_leaves_undecided_pages_nobody_and_is_told(store: duckdb.DuckDBPyConnection) -> None:
    for low, high, count in ((0.5, 1.0, 40), (1.0, 2.5, 60)):
        add(
            store, "engine_bins", ts=NOW - timedelta(minutes=1), interval_seconds=5, instance="i", model="m",
            metric="ttft_seconds", edge_lo=low, edge_hi=high, count=count,
        )  # fmt: skip
    (row,) = rows(store)
    assert (row["ratio"], row["ratio_low"], row["undecided"], row["firing"]) == (1.0, 0.4, 60, [])
    assert "2.0" in row["hint"]


def test_rejections_known_only_from_counters_are_bad_for_the_model_and_unattributed_for_a_tenant(
    store: duckdb.DuckDBPyConnection,
) -> None:
    add(store, tenant="acme", ttft_seconds=1.0, e2e_seconds=2.0)
    scrape(store, seconds_ago=60, rejected=3.0)
    thresholds = (Threshold("ttft_seconds", 2.0),)
    whole, part = rows(store, Objective("whole", thresholds), Objective("part", thresholds, by=("model", "tenant")))
    assert (whole["good"], whole["bad"], whole["unattributed_bad"]) == (1, 3, 3)
    assert (part["good"], part["bad"], part["unattributed_bad"]) == (1, 0, 3)


def test_rejections_that_requests_record_are_not_counted_twice(store: duckdb.DuckDBPyConnection) -> None:
    add(store, status="rejected", source="gateway")
    scrape(store, seconds_ago=60, rejected=1.0)
    (row,) = rows(store)
    assert (row["bad"], row["unattributed_bad"]) == (1, 0)


def test_clients_that_stop_after_a_good_first_token_page_nobody(store: duckdb.DuckDBPyConnection) -> None:
    for _ in range(40):
        add(store, status="aborted", source="gateway", ttft_seconds=0.8, e2e_seconds=3.0)
    (row,) = rows(store)
    assert (row["good"], row["bad"], row["firing"], row["state"]) == (40, 0, [], "ok")


def test_clients_that_stop_after_waiting_in_vain_page(store: duckdb.DuckDBPyConnection) -> None:
    for _ in range(40):
        add(store, status="aborted", source="gateway", e2e_seconds=9.0)
    (row,) = rows(store)
    assert (row["bad"], row["state"]) == (40, "exhausted")
    assert row["firing"]


def test_goodput_is_quoted_per_gpu_where_every_instance_says_how_many_it_has(store: duckdb.DuckDBPyConnection) -> None:
    add(store, ts=NOW - timedelta(seconds=100), ttft_seconds=0.5, e2e_seconds=1.0)
    add(store, "instances", instance="i", model="m", gpu_count=4, started_at=NOW - timedelta(days=1))
    (row,) = rows(store)
    assert row["good_per_gpu_second"] == pytest.approx(1 / 400)
    add(store, "instances", instance="j", model="m", started_at=NOW - timedelta(days=1))
    (row,) = rows(store)
    assert row["good_per_gpu_second"] is None


def test_answers_that_lack_the_latency_are_excluded_and_told(store: duckdb.DuckDBPyConnection) -> None:
    add(store, ttft_seconds=None, e2e_seconds=1.0)
    add(store, status="client_error")
    (row,) = rows(store)
    assert (row["good"], row["bad"], row["excluded"], row["unmeasured"]) == (0, 0, 2, 1)


def test_windows_are_named_in_their_largest_whole_unit() -> None:
    assert [window_name(seconds) for seconds in (300, 5400, 86_400, 90)] == ["5m", "90m", "1d", "90s"]


@pytest.mark.skipif(not PAYLOADS.is_dir(), reason="recorded payloads are not beside the repository")
class TestOnARecordedEngine:
    @pytest.fixture(scope="class")
    @classmethod
    def run(cls) -> duckdb.DuckDBPyConnection:
        store = public_store()
        load_run(store, PAYLOADS / "vllm-live", PAYLOADS / "vllm-live-otlp")
        return store

    def newest(self, run: duckdb.DuckDBPyConnection) -> datetime:
        newest = DuckReader(run).newest()
        assert newest is not None
        return newest

    def test_the_p99_is_exact_and_aborts_that_only_counters_know_are_bad(self, run: duckdb.DuckDBPyConnection) -> None:
        (row,) = rows(run, now=self.newest(run))
        assert row["p99"] == pytest.approx(75.4832, abs=1e-3)
        assert (row["unattributed_bad"], row["coverage"]) == (15, 1.0)
        assert row["good"] + row["bad"] == 350 + 15

    def test_each_length_bucket_has_its_exact_p99(self, run: duckdb.DuckDBPyConnection) -> None:
        objective = Objective("o", (Threshold("ttft_seconds", 2.0),), by=("model", "length_bucket"))
        found = {row["length_bucket"]: row for row in rows(run, objective, now=self.newest(run))}
        assert {name: row["good"] + row["bad"] for name, row in found.items()} == {"0-1k": 266, "1k-4k": 84}
        assert found["0-1k"]["p99"] == pytest.approx(75.5645, abs=1e-3)
        assert found["1k-4k"]["p99"] == pytest.approx(52.3322, abs=1e-3)

    def test_a_page_alone_gives_the_bucket_and_counts_nobody_twice(self, run: duckdb.DuckDBPyConnection) -> None:
        pages = public_store()
        load_run(pages, PAYLOADS / "vllm-live", None)
        (row,) = rows(pages, now=self.newest(run))
        assert (row["p99_interval"], row["sli_source"], row["unattributed_bad"]) == ([40.0, 80.0], "page", 0)
        assert row["good"] + row["bad"] == 365

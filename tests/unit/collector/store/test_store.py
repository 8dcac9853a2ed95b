"""A store commits each batch once or not at all, survives being closed, and says what stands in its way."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from collector.store.batch import HalfBatch, TableBatch
from collector.store.store import Store
from signals.errors import StoreError
from signals.readings import HistogramIncrement, Increments
from signals.records import FAILED, GONE, OK, HostRows, Identity, Scrape, Target
from signals.spans import RequestHalf

T0 = 1_795_000_000_000_000_000
SECOND = 1_000_000_000


def scrape(sequence: int, **changes: object) -> Scrape:
    found = Increments(
        "m",
        "both",
        {("queue_depth", ()): 3.0, ("running", ()): None},
        {("prompt_tokens", ()): 10.0, ("finished_by_reason", (("reason", "stop"),)): 2.0},
        (HistogramIncrement("ttft_seconds", (), (0.1, 1.0), (1, 2, 1), 3.5, 4),),
    )
    given: dict[str, object] = {
        "identity": Identity("a", "life", sequence),
        "target": Target("i", engine="vllm", pool="p"),
        "time_ns": T0 + sequence * 5 * SECOND,
        "start_ns": T0 + (sequence - 1) * 5 * SECOND if sequence else None,
        "state": OK,
        "increments": (found,),
        "process_start": T0 / 1e9 - 60,
    }
    return Scrape(**(given | changes))  # type: ignore[arg-type]


def engine_half(number: int, **changes: object) -> RequestHalf:
    given: dict[str, object] = {
        "side": "engine",
        "key": f"e{number}",
        "part": f"t{number}/e{number}",
        "start_ns": T0 + number * SECOND,
        "match": f"id-{number}",
        "instance": "i",
        "ttft_seconds": 0.5,
        "e2e_seconds": 2.5,
        "input_tokens": 1_000,
        "output_tokens": 5,
        "status": "ok",
    }
    return RequestHalf(**(given | changes))  # type: ignore[arg-type]


def gateway_half(number: int, **changes: object) -> RequestHalf:
    given: dict[str, object] = {
        "side": "gateway",
        "key": f"g{number}",
        "part": f"u{number}/g{number}",
        "start_ns": T0 + number * SECOND - SECOND // 4,
        "match": f"id-{number}",
        "tenant": "acme",
        "requested_model": "chat",
        "e2e_seconds": 3.0,
        "status": "ok",
    }
    return RequestHalf(**(given | changes))  # type: ignore[arg-type]


def halves(sequence: int, *found: RequestHalf) -> HalfBatch:
    return HalfBatch(Identity("spans", "life", sequence), found)


def ask(store: Store, query: str) -> list[tuple[object, ...]]:
    cursor = store.cursor()
    try:
        return cursor.execute(query).fetchall()
    finally:
        cursor.close()


@pytest.fixture
def store() -> Store:
    return Store.open(None)


def test_a_scrape_becomes_a_sample_its_bins_and_its_other_signals(store: Store) -> None:
    assert store.commit([scrape(1)]) == [True]
    assert ask(store, "select interval_seconds, queue_depth, running, prompt_tokens, pool from engine_samples") == [
        (5.0, 3.0, None, 10.0, "p")
    ]
    assert ask(store, "select edge_lo, edge_hi, count from engine_bins order by edge_lo") == [
        (0.0, 0.1, 1),
        (0.1, 1.0, 2),
        (1.0, None, 1),
    ]
    assert ask(store, "select signal, attributes['reason'], value from signal_samples") == [
        ("finished_by_reason", "stop", 2.0)
    ]


def test_a_batch_that_is_sent_twice_is_stored_once(store: Store) -> None:
    assert store.commit([scrape(1), scrape(1), scrape(2)]) == [True, False, True]
    assert store.commit([scrape(2)]) == [False]
    assert ask(store, "select count(*) from engine_samples") == [(2,)]


def test_a_reopened_store_still_knows_its_batches(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    with Store.open(path) as first:
        first.commit([scrape(1), halves(1, engine_half(1))])
        first.join()
    with Store.open(path) as second:
        assert second.commit([scrape(1), halves(1, engine_half(1))]) == [False, False]
        assert second.join() == 0
        assert ask(second, "select count(*) from requests") == [(1,)]


def test_a_failed_scrape_is_a_row_of_nulls_for_each_model_last_seen(store: Store) -> None:
    store.commit([scrape(1, state=FAILED, increments=(), last_groups=(("m", "both"), ("n", "both")), error="refused")])
    rows = ask(store, "select model, scrape_state, queue_depth, prompt_tokens from engine_samples order by model")
    assert rows == [("m", "failed", None, None), ("n", "failed", None, None)]
    assert ask(store, "select kind, count, example from data_quality") == [("scrape_failed", 1, "refused")]


def test_a_batch_that_cannot_be_stored_takes_nothing_with_it(store: Store) -> None:
    broken = TableBatch(
        Identity("i", "x", 0), "requests", pa.table({"ts": ["not a time"], "model": ["m"], "status": ["ok"]})
    )
    with pytest.raises(StoreError, match="nothing of 2 batches"):
        store.commit([scrape(1), broken])
    assert ask(store, "select count(*) from engine_samples") == [(0,)]
    assert ask(store, "select count(*) from stored.ledger") == [(0,)]
    assert store.commit([scrape(1)]) == [True]


@pytest.mark.parametrize("order", [("engine", "gateway"), ("gateway", "engine")])
def test_two_halves_become_one_request_whichever_comes_first(store: Store, order: tuple[str, str]) -> None:
    found = {"engine": engine_half(1), "gateway": gateway_half(1)}
    for sequence, side in enumerate(order):
        store.commit([halves(sequence, found[side])])
        store.join()
    rows = ask(
        store,
        "select source, tenant, requested_model, ttft_seconds, engine_ttft_seconds, gateway_seconds, e2e_seconds, "
        "engine_e2e_seconds, tpot_seconds, length_bucket, attempts from requests",
    )
    assert rows == [("joined", "acme", "chat", 0.75, 0.5, 0.25, 3.0, 2.5, 0.5625, "1k-4k", 1)]
    counted = ask(store, "select metric, sum(count) from latency_bins where step_seconds = 60 group by 1 order by 1")
    assert counted == [("e2e_seconds", 1), ("tpot_seconds", 1), ("ttft_seconds", 1)]


def test_a_late_gateway_half_moves_the_counts_to_its_tenant(store: Store) -> None:
    store.commit([halves(0, engine_half(1))])
    store.join()
    assert ask(
        store,
        "select tenant, sum(count) from latency_bins where metric = 'ttft_seconds' and step_seconds = 60 group by 1",
    ) == [(None, 1)]
    store.commit([halves(1, gateway_half(1))])
    store.join()
    rows = ask(
        store,
        "select tenant, sum(count) as n from latency_bins where metric = 'ttft_seconds' and step_seconds = 60 "
        "group by 1 having n <> 0",
    )
    assert rows == [("acme", 1)]


def test_a_half_that_is_sent_again_in_another_batch_is_stored_once(store: Store) -> None:
    store.commit([halves(0, engine_half(1))])
    store.commit([halves(1, engine_half(1), engine_half(2))])
    store.join()
    assert ask(store, "select count(*) from requests") == [(2,)]


def test_retries_of_the_gateway_are_one_request_with_attempts(store: Store) -> None:
    first = gateway_half(1, part="u1/a", attempts=1, match=None)
    second = gateway_half(1, part="u1/b", attempts=1)
    store.commit([halves(0, gateway_half(1), first, second, engine_half(1))])
    store.join()
    assert ask(store, "select count(*), max(attempts) from requests") == [(1, 2)]


def test_halves_with_the_same_trace_join_only_when_the_trace_holds_one_request(store: Store) -> None:
    alone = gateway_half(1, match=None, trace_id="t1")
    engine = engine_half(1, match="other", trace_id="t1")
    store.commit([halves(0, alone, engine)])
    store.join()
    assert ask(store, "select source from requests") == [("joined",)]
    twin = gateway_half(2, match=None, trace_id="t1")
    store.commit([halves(1, twin)])
    store.join()
    assert sorted(ask(store, "select source from requests")) == [("engine",), ("gateway",), ("gateway",)]


def test_parts_that_a_link_ties_to_another_key_are_one_request(store: Store) -> None:
    client = gateway_half(1, key="dependency", part="u1/client", e2e_seconds=None, status=None)
    server = gateway_half(1, match=None, tenant=None, requested_model=None)
    store.commit([halves(0, client)])
    store.join()
    store.commit([halves(1, server)])
    store.join()
    store.commit(
        [halves(2, gateway_half(1, part="u1/link", match=None, alias="dependency", e2e_seconds=None, status=None))]
    )
    store.join()
    assert ask(store, "select count(*), max(tenant), max(e2e_seconds) from requests") == [(1, "acme", 3.0)]


def test_a_request_takes_the_model_of_its_instance_even_when_the_first_scrape_comes_later(store: Store) -> None:
    store.commit([halves(0, engine_half(1))])
    store.join()
    assert ask(store, "select model from requests") == [(None,)]
    store.commit([scrape(1)])
    assert store.join() == 1
    assert ask(store, "select model, pool, engine from requests") == [("m", "p", "vllm")]


def test_a_gateway_span_that_names_neither_model_nor_tenant_is_no_request(store: Store) -> None:
    nameless = gateway_half(1, match=None, tenant=None, requested_model=None)
    failed = gateway_half(2, match=None, tenant=None, requested_model=None, status="error")
    store.commit([halves(0, nameless, failed)])
    store.join()
    assert ask(store, "select status from requests") == [("error",)]


def test_a_restarted_instance_begins_another_life(store: Store) -> None:
    store.commit([scrape(1), scrape(2), scrape(3, process_start=T0 / 1e9 + 12)])
    rows = ask(store, "select started_at, stopped_at from instances order by started_at")
    assert len(rows) == 2
    assert rows[0][1] == rows[1][0]


def test_an_instance_that_comes_back_with_the_same_process_has_not_stopped(store: Store) -> None:
    gone = scrape(2, state=GONE, increments=(), last_groups=(("m", "both"),))
    store.commit([scrape(1)])
    store.commit([gone])
    assert ask(store, "select count(*), count(stopped_at) from instances") == [(1, 1)]
    store.commit([scrape(3)])
    assert ask(store, "select count(*), count(stopped_at) from instances") == [(1, 0)]


def test_lifecycle_rows_fill_in_what_scrapes_do_not_know(store: Store) -> None:
    store.commit([scrape(1)])
    started = T0 / 1e9 - 60
    rows = ({"instance": "i", "model": "m", "started_at": started, "ready_at": started + 30, "gpu_type": "H200"},)
    store.commit([HostRows(Identity("a", "life", 9), "h", T0, None, {"instances": rows})])
    assert ask(store, "select gpu_type, epoch(ready_at) - epoch(started_at), pool from instances") == [
        ("H200", 30.0, "p")
    ]


def test_a_life_told_twice_in_one_commit_is_one_although_its_start_jitters(store: Store) -> None:
    started = T0 / 1e9 - 60
    row = {"instance": "i", "model": "m", "started_at": started + 1.2, "ready_at": started + 30, "gpu_type": "H200"}
    later = {"instance": "i", "model": "m", "started_at": started + 300, "gpu_type": "H100"}
    store.commit([scrape(1), HostRows(Identity("a", "life", 9), "h", T0, None, {"instances": (row, later)})])
    assert ask(
        store, "select epoch(started_at) - $$, gpu_type, pool from instances order by 1".replace("$$", str(started))
    ) == [(0.0, "H200", "p"), (300.0, "H100", None)]


def test_a_gateway_that_chose_the_worker_names_the_instance_where_no_engine_does(store: Store) -> None:
    store.commit([scrape(1)])
    store.commit(
        [
            halves(
                0,
                gateway_half(1, instance="i", prefill_instance="p", requested_model=None),
                gateway_half(2, instance="chosen"),
                engine_half(2),
                gateway_half(3, instance="i"),
                gateway_half(3, part="retry", start_ns=T0 + 4 * SECOND, instance="j"),
            )
        ]
    )
    store.join()
    query = "select source, instance, prefill_instance, pool, model from requests order by ts"
    assert ask(store, query) == [
        ("gateway", "i", "p", "p", "m"),
        ("joined", "i", None, "p", "m"),
        ("gateway", "j", None, None, "m"),
    ]


def test_gpu_rows_keep_lists_and_drop_what_has_no_column(store: Store) -> None:
    row = {"gpu": "GPU-1", "index": 0, "sm_active_ratio": 0.5, "throttle_reasons": "sw_power_cap,hw_slowdown",
           "state": "ok", "unheard_of": 1.0}  # fmt: skip
    store.commit([HostRows(Identity("a", "life", 1), "h", T0, None, {"gpu_samples": (row,)})])
    assert ask(store, "select host, gpu, throttle_reasons from gpu_samples") == [
        ("h", "GPU-1", ["sw_power_cap", "hw_slowdown"])
    ]


def test_imported_samples_that_do_not_say_have_a_role_an_engine_and_a_state(store: Store) -> None:
    known = {"role": ["prefill", None], "engine": [None, "vllm"], "scrape_state": [None, "frozen"]}
    table = pa.table(
        {"ts": [datetime(2026, 5, 1, tzinfo=UTC)] * 2, "instance": ["a", "b"], "model": ["m", "m"], **known}
    )
    bare = table.select(["ts", "instance", "model"])
    for sequence, found in enumerate((table, bare)):
        store.commit([TableBatch(Identity("import", "file", sequence), "engine_samples", found)])
    rows = ask(store, "select role, engine, scrape_state from engine_samples order by all")
    assert rows == [("both", "unknown", "ok")] * 2 + [("both", "vllm", "frozen"), ("prefill", "unknown", "ok")]


def test_imported_requests_derive_what_follows_and_are_counted(store: Store) -> None:
    table = pa.table(
        {
            "ts": [datetime(2026, 5, 1, tzinfo=UTC)],
            "model": ["m"],
            "ttft_seconds": [1.0],
            "e2e_seconds": [3.0],
            "input_tokens": [70_000],
            "output_tokens": [3],
        }
    )
    store.commit([TableBatch(Identity("import", "file", 0), "requests", table)])
    rows = ask(store, "select status, length_bucket, tpot_seconds, source, first_token_at - ts from requests")
    assert rows == [("ok", "64k-256k", 1.0, "import", timedelta(seconds=1))]
    assert ask(store, "select sum(count) from latency_bins where metric = 'ttft_seconds' and step_seconds = 3600") == [
        (1,)
    ]


def test_another_process_cannot_open_an_open_store(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    with Store.open(path):
        code = f"from collector.store.store import Store; Store.open({str(path)!r})"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert other.returncode != 0
    assert "is open in another process" in other.stderr


def test_someone_elses_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "theirs.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table accounts (id integer)")
    with pytest.raises(StoreError, match=r"not a sloscope store: it holds main\.accounts"):
        Store.open(path)


def test_a_file_called_like_the_schema_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="take another file name"):
        Store.open(tmp_path / "stored.duckdb")


def test_a_newer_schema_asks_for_a_newer_program(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    Store.open(path).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("insert into stored.migrations values (9999, 'later', now())")
    with pytest.raises(StoreError, match="use a newer sloscope"):
        Store.open(path)


def test_a_backup_is_a_whole_store(tmp_path: Path) -> None:
    with Store.open(tmp_path / "x.duckdb") as store:
        store.commit([scrape(1), halves(0, engine_half(1))])
        store.join()
        store.backup(tmp_path / "copy.duckdb")
    with Store.open(tmp_path / "copy.duckdb") as copy:
        assert ask(copy, "select count(*) from requests") == [(1,)]
        assert copy.commit([scrape(1)]) == [False]


def test_archived_days_leave_the_file_and_stay_in_the_views(tmp_path: Path) -> None:
    day = 86_400
    with Store.open(tmp_path / "x.duckdb") as store:
        table = pa.table(
            {
                "ts": [datetime(2026, 5, 1, 12, tzinfo=UTC) + timedelta(seconds=day * i) for i in range(4)],
                "model": ["m"] * 4,
                "e2e_seconds": [1.0] * 4,
                "request_id": [f"r{i}" for i in range(4)],
            }
        )
        store.commit([TableBatch(Identity("import", "f", 0), "requests", table)])
        before = ask(store, "select ts, request_id, model, e2e_seconds from requests order by ts")
        assert store.archive(tmp_path / "cold", {"requests": datetime(2026, 5, 3, tzinfo=UTC)}) == 2
        assert ask(store, "select count(*) from stored.requests") == [(2,)]
        assert ask(store, "select ts, request_id, model, e2e_seconds from requests order by ts") == before
        assert store.archive(tmp_path / "cold", {"requests": datetime(2026, 5, 3, tzinfo=UTC)}) == 0
    assert sorted(path.name for path in (tmp_path / "cold" / "requests").iterdir()) == [
        "2026-05-01.parquet",
        "2026-05-02.parquet",
    ]


def test_an_instance_that_a_request_knows_by_another_name_is_the_sampled_one(store: Store) -> None:
    store.commit([scrape(1, facts={"worker_id": "f86697cc3364077d"})])
    store.commit([halves(0, engine_half(1, instance="f86697cc3364077d"))])
    store.join()
    assert ask(store, "select instance, model from requests") == [("i", "m")]
    assert ask(store, "select alias, instance from instance_aliases") == [("f86697cc3364077d", "i")]

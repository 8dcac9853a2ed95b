"""What the recordings are known to contain is what the store says after an import: counts, quantiles, joins."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from collector.importer.run import Options, import_sources
from collector.importer.sources import recognise
from collector.store.store import Store
from tests.support.recordings import copy_of, filled_store

pytestmark = pytest.mark.e2e
Rows = list[tuple[object, ...]]


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled_store(tmp_path_factory.mktemp("direct"), "vllm-live", "vllm-live-otlp")[0]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = ("litellm-live", "litellm-otlp", "vllm-behind-litellm", "vllm-behind-litellm-otlp")
    return filled_store(tmp_path_factory.mktemp("gateway"), *names)[0]


def ask(database: Path, query: str) -> Rows:
    with duckdb.connect(str(database), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        return connection.execute(query).fetchall()


def test_every_engine_span_is_one_request(direct: Path) -> None:
    assert ask(direct, "select count(*), count(distinct request_id) from requests") == [(350, 350)]


def test_p99_ttft_is_the_clients_own(direct: Path) -> None:
    found = dict(
        ask(direct, "select length_bucket, quantile_disc(ttft_seconds, 0.99) from requests group by rollup(1)")
    )
    assert found[None] == pytest.approx(75.4832, abs=1e-3)
    assert found["0-1k"] == pytest.approx(75.5645, abs=1e-3)
    assert found["1k-4k"] == pytest.approx(52.3322, abs=1e-3)
    counts = dict(ask(direct, "select length_bucket, count(*) from requests group by 1"))
    assert counts == {"0-1k": 266, "1k-4k": 84}


def test_bins_give_the_same_p99_within_one_per_cent(direct: Path) -> None:
    query = (
        "select bin_quantile(list(bin), list(count), 0.99) from latency_bins "
        "where metric = 'ttft_seconds' and step_seconds = {}"
    )
    for step in (60, 300, 3600):
        assert ask(direct, query.format(step))[0][0] == pytest.approx(75.4832, rel=0.01)


def test_counters_add_up_to_the_truth(direct: Path) -> None:
    query = (
        "select sum(prefix_hit_tokens), sum(finished), sum(first_tokens), sum(preemptions), max(queue_depth) "
        "from engine_samples"
    )
    assert ask(direct, query) == [(60_416.0, 350.0, 365.0, 10.0, 103.0)]


def test_aborts_that_the_engine_hides_are_found_and_never_too_many(direct: Path) -> None:
    rows = ask(direct, "select aborted_so_far from aborted order by ts")
    assert rows[-1] == (15,)
    assert max(row[0] for row in rows) == 15
    before = ask(
        direct,
        "select max(aborted_so_far) from aborted where ts < (select max(ts) from aborted) - interval 45 second",
    )
    assert before == [(0,)]


def test_importing_twice_changes_nothing(direct: Path, tmp_path: Path) -> None:
    database = copy_of(direct, tmp_path)
    tables = ("requests", "engine_samples", "engine_bins", "latency_bins", "signal_samples", "instances")
    before = [ask(database, f"select count(*) from {table}") for table in tables]
    with Store.open(database) as store:
        places = tuple(str(direct.parent / name) for name in ("vllm-live", "vllm-live-otlp"))
        outcome = import_sources(store, list(recognise(places).sources), Options(), lambda _: None)
    assert sum(outcome.stored.values()) == 0
    assert [ask(database, f"select count(*) from {table}") for table in tables] == before


def test_the_gateway_names_the_tenant_of_exactly_the_requests_it_answered(gateway: Path) -> None:
    query = "select tenant, count(*) from requests where source = 'joined' group by 1 order by 1"
    assert ask(gateway, query) == [("acme", 39), ("globex", 44)]
    both = (
        "select count(*) from requests "
        "where source = 'joined' and ttft_seconds >= engine_ttft_seconds and e2e_seconds > 0"
    )
    assert ask(gateway, both) == [(83,)]
    assert ask(gateway, "select count(*) from requests where tenant is not null") == [(155,)]


def test_requested_and_served_model_differ_and_the_adapter_is_known(gateway: Path) -> None:
    query = "select distinct requested_model, model, adapter from requests where source = 'joined' order by 1"
    assert ask(gateway, query) == [("chat-small", "tiny-llama", None), ("lora-a", "tiny-llama", "lora-a")]


def test_nothing_is_joined_by_guesswork(gateway: Path) -> None:
    alone = "select count(*), count(tenant), count(requested_model) from requests where source = 'engine'"
    assert ask(gateway, alone) == [(77, 0, 0)]
    halves = "select count(*) from requests where source = 'gateway' and engine_ttft_seconds is not null"
    assert ask(gateway, halves) == [(0,)]


def test_no_prompt_text_is_anywhere_in_the_store(gateway: Path) -> None:
    columns = ask(
        gateway,
        "select schema_name, table_name, column_name from duckdb_columns() "
        "where not internal and data_type = 'VARCHAR' and schema_name = 'stored'",
    )
    assert len(columns) > 50
    for schema, table, column in columns:
        found = ask(
            gateway, f"select count(*) from {schema}.{table} where \"{column}\" similar to '.*\\bw[0-9]+ w[0-9]+.*'"
        )
        assert found == [(0,)], (table, column)
        mail = ask(gateway, f"select count(*) from {schema}.{table} where \"{column}\" like '%@example.test%'")
        assert mail == [(0,)], (table, column)


@pytest.mark.parametrize("first", ["pages", "spans"])
def test_halves_join_in_any_order(tmp_path: Path, first: str) -> None:
    pages, spans = ("vllm-behind-litellm",), ("litellm-otlp", "vllm-behind-litellm-otlp")
    order = [*pages, *spans] if first == "pages" else [*reversed(spans), *pages]
    with Store.open(tmp_path / "ordered.duckdb") as store:
        filled_store(tmp_path, *pages, *spans)
        for name in order:
            import_sources(store, list(recognise((str(tmp_path / name),)).sources), Options(), lambda _: None)
        joined = store.cursor().execute("select count(*) from requests where source = 'joined'").fetchall()
        bins = (
            store.cursor()
            .execute("select sum(count) from latency_bins where metric = 'ttft_seconds' and step_seconds = 60")
            .fetchall()
        )
        timed = store.cursor().execute("select count(ttft_seconds) from requests").fetchall()
        unnamed = (
            store.cursor().execute("select count(*) from requests where model is null and source = 'joined'").fetchall()
        )
    assert joined == [(83,)]
    assert bins == timed
    assert unnamed == [(0,)]

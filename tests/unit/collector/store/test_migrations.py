"""A store of any earlier schema is upgraded on request, and what it held goes on."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from collector.store.migrate import migrate, migrations
from collector.store.store import Store
from signals.errors import StoreError
from tests.unit.collector.store.test_store import T0, ask, engine_half, gateway_half, halves

#: Halves as schema 3 stored them: one that is joined, one that waits for its gateway, one that is not joined yet.
WIDE = """
insert into stored.halves (half_sequence, side, key, part, start_ns, match, name, instance, tenant, requested_model,
                           ttft_seconds, e2e_seconds, input_tokens, output_tokens, status)
values (1, 'gateway', 11, 12, $t0 + 750000000, 'id-1', null, null, 'acme', 'chat', null, 3.0, null, null, 'ok'),
       (2, 'engine', null, 13, $t0 + 1000000000, 'id-1', null, 'i', null, null, 0.5, 2.5, 1000, 5, 'ok'),
       (4, 'engine', null, 14, $t0 + 2000000000, 'id-2', null, 'i', null, null, 0.5, 2.5, 1000, 5, 'ok'),
       (5, 'engine', null, 15, $t0 + 3000000000, null, 't3/e3', 'i', null, null, 0.5, 2.5, 1000, 5, 'ok')
"""
REQUESTS = """
insert into stored.requests (gateway_key, engine_part, ts, request_id, instance, ttft_seconds, e2e_seconds, status,
                             source)
values (11, 13, make_timestamptz($t0 // 1000 + 750000), 'id-1', 'i', 0.75, 3.0, 'ok', 'joined'),
       (null, 14, make_timestamptz($t0 // 1000 + 2000000), 'id-2', 'i', 0.5, 2.5, 'ok', 'engine')
"""
BINS = """
insert into stored.instance_bins
select 60, timestamptz '2026-05-01 00:00:00+00', 'm', 'i', metric, bin, n
from (values ('e2e_seconds', 40, 2), ('ttft_seconds', -35, 1), ('ttft_seconds', -2000, 3)) as t(metric, bin, n)
"""


def _store_of(number: int, path: Path) -> duckdb.DuckDBPyConnection:
    """Return a new store as the sloscope with `number` migrations made it."""
    connection = duckdb.connect(str(path), config={"storage_compatibility_version": "v1.5.0"})
    connection.execute("set TimeZone = 'UTC'")
    migrate(connection, until=number)
    return connection


@pytest.mark.parametrize("number", range(1, len(migrations())))
def test_every_older_schema_is_named_and_upgraded_only_on_request(tmp_path: Path, number: int) -> None:
    path = tmp_path / "x.duckdb"
    _store_of(number, path).close()
    with pytest.raises(StoreError, match="sloscope migrate"):
        Store.open(path)
    with Store.open(path, upgrade=True) as store:
        assert ask(store, "select max(number) from stored.migrations") == [(len(migrations()),)]
        store.commit([halves(0, engine_half(1), gateway_half(1))])
        assert store.join() == 1
        assert ask(store, "select count(*) from ttft_p99") == [(1,)]


def test_wide_halves_go_on_being_joined(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    with _store_of(3, path) as connection:
        connection.execute(WIDE, {"t0": T0})
        connection.execute(REQUESTS, {"t0": T0})
        connection.execute("insert into stored.progress values ('joined_halves', 4)")
    with Store.open(path, upgrade=True) as store:
        assert ask(store, "select count(*) from duckdb_tables() where table_name = 'wide_halves'") == [(0,)]
        store.commit([halves(0, gateway_half(2))])
        store.join()
        assert ask(store, "select request_id, source, tenant, ttft_seconds from requests order by ts") == [
            ("id-1", "joined", None, 0.75),
            ("id-2", "joined", "acme", 0.75),
            ("t3/e3", "engine", None, 0.5),
        ]
        assert store.join() == 0


def test_bins_by_instance_are_what_they_were(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    query = "select ts, step_seconds, metric, model, instance, bin, count from instance_bins order by metric, bin"
    with _store_of(3, path) as connection:
        connection.execute(BINS)
        before = connection.execute(query).fetchall()
    with Store.open(path, upgrade=True) as store:
        assert ask(store, query) == before
        assert len(before) == 3

"""What people ask is answered, and what would read, write or stop anything else is refused by its parsed form."""

from __future__ import annotations

import duckdb
import pytest

from collector.sqlguard.guard import MAX_SQL, Guard
from collector.store.store import Store
from signals.errors import QueryRefusedError
from tests.support.public_store import public_store


@pytest.fixture(scope="module")
def cursor() -> duckdb.DuckDBPyConnection:
    return public_store()


ALLOWED = [
    "select count(*) from requests",
    "from requests",
    "select * from main.requests limit 3",
    "with r as (select * from requests) select model, quantile_disc(ttft_seconds, 0.99) from r group by model",
    "select * from requests r join engine_samples e using (instance)",
    "with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select * from t",
    "select * from range(10)",
    "select unnest([1, 2, 3])",
    "select time_bucket(interval 5 minutes, ts), count(*) from requests group by 1 order by 1",
    "select row_number() over (partition by model order by ts) from requests qualify true",
    "select table_name from information_schema.tables",
    "select a.x from (values (1)) a(x)",
    "select 1 union all select 2",
    "select sum(count) filter (where metric = 'ttft_seconds') from latency_bins",
    "select list_transform([1, 2], x -> x + 1)",
    "select * exclude (ts) from requests",
    "select exists(select 1 from requests)",
    "select 1;",
]
REFUSED = [
    "insert into requests (model) values ('x')",
    "update requests set model = 'x'",
    "delete from requests",
    "drop table requests",
    "create table x (a int)",
    "create or replace view requests as select 1",
    "attach 'x.db'",
    "copy requests to 'x.csv'",
    "copy (select 1) to '/tmp/x'",
    "export database '/tmp/x'",
    "import database '/tmp/x'",
    "set threads = 1",
    "set global enable_external_access = true",
    "reset threads",
    "pragma database_list",
    "call pragma_version()",
    "checkpoint",
    "begin",
    "rollback",
    "vacuum",
    "install httpfs",
    "load httpfs",
    "explain analyze select 1",
    "describe requests",
    "show tables",
    "show all tables",
    "summarize requests",
    "prepare p as select 1",
    "execute p",
    "use memory",
    "select 1; drop table requests",
    "select 1; select 2",
    "with x as (select 1) insert into requests (model) select 'x'",
    "with x as (delete from requests returning *) select * from x",
    "with x as (update requests set model = 'y' returning *) select * from x",
    "with x as (copy requests to '/tmp/x.csv') select 1",
    "select * from (with x as (delete from requests returning *) select * from x)",
    "from (summarize requests)",
    "from (show tables)",
    "select * from read_csv('/etc/passwd')",
    "select * from read_text('/etc/hostname')",
    "select * from read_blob('/etc/hostname')",
    "select * from read_parquet('x')",
    "select * from read_json('x')",
    "select * from glob('/*')",
    "select * from '/etc/passwd'",
    "select * from 'x.parquet'",
    'select * from "https://example.org/x.csv"',
    "with x as (select * from read_csv('/etc/passwd')) select * from x",
    "select (select content from read_text('/etc/hostname'))",
    "select * from requests where model in (select * from read_text('/etc/hostname'))",
    "select * from requests order by (select max(content) from read_text('x'))",
    "select * from stored.ledger",
    "select * from store.ledger",
    "select * from sqlite_master",
    "select * from pg_catalog.pg_tables",
    "select * from information_schema.character_sets",
    "select * from duckdb_settings()",
    "select * from duckdb_secrets()",
    "select * from pragma_table_info('requests')",
    "select * from query('select 1')",
    "select * from query_table('requests')",
    "select getenv('HOME')",
    "select current_setting('threads')",
    "select getvariable('x')",
    "select nextval('s')",
    "select * from repeat_row(1, num_rows = 1000000000)",
    "select * from sniff_csv('x')",
    "select * from parquet_metadata('x')",
    "select * from which_secret('x', 'y')",
    "select * from json_execute_serialized_sql(json_serialize_sql('select 1'))",
    "select * from memory.stored.ledger",
    "select * from system.main.duckdb_tables",
    "from read_text('/etc/hostname') select *",
    "pivot requests on model using count(*)",
    "select * from no_such_view",
    "select",
    "selekt 1",
    "",
    "-- nothing",
    "select * from requests for update",
]


@pytest.mark.parametrize("query", ALLOWED)
def test_a_question_is_allowed(cursor: duckdb.DuckDBPyConnection, query: str) -> None:
    Guard().check(cursor, query)


@pytest.mark.parametrize("query", REFUSED)
def test_anything_else_is_refused(cursor: duckdb.DuckDBPyConnection, query: str) -> None:
    with pytest.raises(QueryRefusedError):
        Guard().check(cursor, query)


@pytest.mark.parametrize("wrapper", ["select * from ({}) x", "with c as ({}) select * from c", "select exists({})"])
def test_nothing_hides_in_a_subquery(cursor: duckdb.DuckDBPyConnection, wrapper: str) -> None:
    with pytest.raises(QueryRefusedError):
        Guard().check(cursor, wrapper.format("select content from read_text('/etc/hostname')"))


def test_a_name_that_is_nearly_a_view_is_told(cursor: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(QueryRefusedError, match="did you mean 'requests'"):
        Guard().check(cursor, "select * from request")


def test_a_very_long_and_a_very_deep_query_are_refused(cursor: duckdb.DuckDBPyConnection) -> None:
    for query in ("select '" + "x" * MAX_SQL + "'", "select * from (" * 300 + "select 1" + ")" * 300):
        with pytest.raises(QueryRefusedError):
            Guard().check(cursor, query)


def test_a_name_of_a_cte_does_not_open_another_schema(cursor: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(QueryRefusedError):
        Guard().check(cursor, "with ledger as (select 1) select * from stored.ledger")


def test_every_view_that_the_store_has_can_be_asked_and_nothing_else_of_it() -> None:
    with Store.open(None) as store, store.cursor() as real:
        statement = "select view_name from duckdb_views() where schema_name = 'main' and not internal"
        views = {str(name) for (name,) in real.execute(statement).fetchall()}
        assert views >= {"requests", "data_quality"}
        for view in sorted(views):
            Guard().check(real, f"select * from {view} limit 1")

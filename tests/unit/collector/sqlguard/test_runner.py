"""Queries run within their limits and come out in three formats."""

from __future__ import annotations

import csv
import io
import json
import threading

import duckdb
import pyarrow as pa
import pytest

from collector.sqlguard.formats import choose, to_arrow, to_csv, to_json
from collector.sqlguard.runner import QueryLimits, QueryRunner
from signals.errors import QueryRefusedError, RateLimitedError, UnknownNameError
from tests.support.public_store import public_store


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    return public_store()


def runner(connection: duckdb.DuckDBPyConnection, **limits: float) -> QueryRunner:
    return QueryRunner(connection.cursor, QueryLimits(**limits))  # type: ignore[arg-type]  # names and numbers


def test_rows_beyond_the_limit_are_cut_and_said(connection: duckdb.DuckDBPyConnection) -> None:
    result = runner(connection, rows=10).run("select * from range(1000)", "a")
    assert (result.table.num_rows, result.truncated) == (10, True)


def test_a_client_may_ask_for_less_and_never_for_more(connection: duckdb.DuckDBPyConnection) -> None:
    queries = runner(connection, rows=10)
    assert queries.run("select * from range(1000)", "a", rows=3).table.num_rows == 3
    assert queries.run("select * from range(1000)", "a", rows=3_000).table.num_rows == 10


def test_exactly_the_limit_is_not_cut(connection: duckdb.DuckDBPyConnection) -> None:
    result = runner(connection, rows=10).run("select * from range(10)", "a")
    assert (result.table.num_rows, result.truncated) == (10, False)


def test_a_query_without_rows_keeps_its_columns(connection: duckdb.DuckDBPyConnection) -> None:
    result = runner(connection).run("select model, ts from requests", "a")
    assert (result.table.column_names, result.table.num_rows) == (["model", "ts"], 0)


def test_a_query_that_runs_too_long_is_stopped(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(QueryRefusedError, match="longer than"):
        runner(connection, seconds=0.2).run("select count(*) from range(10000000) a, range(10000000) b", "a")


def test_a_query_that_fails_says_why(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(QueryRefusedError, match="no_such_column"):
        runner(connection).run("select no_such_column from requests", "a")


def test_one_client_has_one_query_at_a_time(connection: duckdb.DuckDBPyConnection) -> None:
    queries = runner(connection, seconds=5.0)
    entered = threading.Event()

    def cursor() -> duckdb.DuckDBPyConnection:
        entered.set()
        return connection.cursor()

    queries.cursor = cursor
    slow = threading.Thread(target=lambda: _ignore(queries, "select count(*) from range(100000000) a, range(100) b"))
    slow.start()
    assert entered.wait(60)
    with pytest.raises(RateLimitedError):
        queries.run("select 1", "a")
    assert queries.run("select 1", "b").table.num_rows == 1
    slow.join()


def _ignore(queries: QueryRunner, query: str) -> None:
    queries.limits = QueryLimits(seconds=0.3)
    with pytest.raises(QueryRefusedError):
        queries.run(query, "a")


QUERY = (
    "select 1 as n, 0.5::double as x, 'NaN'::double as nan, null as nothing, "
    "timestamptz '2026-05-01 12:00:00+00' as ts, "
    "map {'a': 'b'} as words, [1, 2] as list, 1.50::decimal(4, 2) as money, interval 90 seconds as span"
)


def test_json_has_columns_rows_and_whether_they_were_cut(connection: duckdb.DuckDBPyConnection) -> None:
    content = json.loads(to_json(runner(connection).run(QUERY, "a")))
    assert content["truncated"] is False
    assert content["columns"][:2] == ["n", "x"]
    row = content["rows"][0]
    assert (row["nan"], row["nothing"], row["ts"]) == (None, None, "2026-05-01T12:00:00Z")
    assert (row["words"], row["list"], row["money"]) == ({"a": "b"}, [1, 2], 1.5)


def test_csv_has_a_header_and_empty_fields_for_null(connection: duckdb.DuckDBPyConnection) -> None:
    result = runner(connection).run("select 'a,b' as word, null as nothing, 2 as n", "a")
    assert list(csv.reader(io.StringIO(to_csv(result).decode()))) == [["word", "nothing", "n"], ["a,b", "", "2"]]


def test_arrow_is_a_stream_with_the_types(connection: duckdb.DuckDBPyConnection) -> None:
    result = runner(connection, rows=2).run("select * from range(5)", "a")
    with pa.ipc.open_stream(to_arrow(result)) as stream:
        assert stream.schema.metadata[b"truncated"] == b"true"
        assert stream.read_all().num_rows == 2


@pytest.mark.parametrize(
    ("asked", "accept", "format_"),
    [
        (None, "*/*", "json"),
        (None, "text/csv", "csv"),
        ("csv", "*/*", "csv"),
        (None, "application/vnd.apache.arrow.stream", "arrow"),
    ],
)
def test_the_format_follows_the_parameter_then_the_header(asked: str | None, accept: str, format_: str) -> None:
    assert choose(asked, accept) == format_


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(UnknownNameError):
        choose("xml", "")


def test_sums_of_whole_numbers_stay_whole() -> None:
    with duckdb.connect() as connection:
        runner = QueryRunner(connection.cursor)
        result = runner.run('select sum(x) as "a b", count(*) as n from (values (1), (2)) as t(x)', "me")
    assert json.loads(to_json(result))["rows"] == [{"a b": 3, "n": 2}]

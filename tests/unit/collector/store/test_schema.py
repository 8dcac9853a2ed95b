"""The migrated schema has every column that the public views promise, and every shipped statement fits it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import duckdb
import pytest

from collector.store.migrate import migrate, migrations
from signals.bins import bin_of, bin_value
from signals.lengths import length_bucket
from signals.views import VIEWS


@pytest.fixture(scope="module")
def migrated() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    migrate(connection)
    return connection


@pytest.mark.parametrize("name", VIEWS)
def test_each_public_view_has_its_promised_columns_and_types(migrated: duckdb.DuckDBPyConnection, name: str) -> None:
    found = {row[0]: row[1] for row in migrated.execute(f"describe {name}").fetchall()}
    for column in VIEWS[name].columns:
        promised = column.type.replace("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE").replace(",", ", ")
        assert found[column.name] == promised, column.name


def test_migrations_are_numbered_without_gaps() -> None:
    assert [migration.number for migration in migrations()] == list(range(1, len(migrations()) + 1))


def test_migrating_twice_does_nothing(migrated: duckdb.DuckDBPyConnection) -> None:
    assert migrate(migrated) == []


def test_sql_and_python_agree_on_lengths_and_bins(migrated: duckdb.DuckDBPyConnection) -> None:
    for tokens in (0, 999, 1_000, 3_999, 4_000, 63_999, 255_999, 256_000, 999_999, 1_000_000, None):
        assert migrated.execute("select length_bucket($t)", {"t": tokens}).fetchall() == [(length_bucket(tokens),)]
    for seconds in (0.0, 1e-4, 0.0123, 1.0, 75.4832, 3_600.0):
        k, value = migrated.execute("select latency_bin($s), bin_value(latency_bin($s))", {"s": seconds}).fetchall()[0]
        assert k == bin_of(seconds)
        assert value == pytest.approx(bin_value(k))


def test_bin_quantile_is_the_inverted_cdf(migrated: duckdb.DuckDBPyConnection) -> None:
    query = "select bin_quantile([1, 2, 2, 3], [1, 1, -1, 1], $q)"
    assert migrated.execute(query, {"q": 0.5}).fetchall()[0][0] == pytest.approx(bin_value(1))
    assert migrated.execute(query, {"q": 0.99}).fetchall()[0][0] == pytest.approx(bin_value(3))


def answers_sql() -> list[Path]:
    folder = Path(str(files("collector.answers"))) / "sql"
    return sorted(folder.glob("*.sql"))


@pytest.mark.parametrize("path", answers_sql(), ids=lambda path: path.stem)
def test_every_shipped_question_fits_the_schema(migrated: duckdb.DuckDBPyConnection, path: Path) -> None:
    text = path.read_text()
    assert text.startswith("-- ")
    assert text.splitlines()[0].rstrip().endswith((".", "?")), "the first line is a sentence"
    migrated.execute(f"prepare shipped as {text.partition(chr(10))[2]}")
    migrated.execute("deallocate shipped")


def test_every_shipped_question_is_asked_somewhere() -> None:
    package = Path(str(files("collector")))
    planners = package.parent / "analytics" / "planners"  # planners name the measurements that they ask for
    code = "\n".join(path.read_text() for folder in (package, planners) for path in folder.rglob("*.py"))
    for path in answers_sql():
        names = (path.stem, path.stem.partition("_")[2])
        assert any(f'"{name}"' in code for name in names), path.stem

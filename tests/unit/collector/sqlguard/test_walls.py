"""Neither REST nor a command lets a query change a setting or touch a file; the database is the second wall."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import httpx
import pytest

from collector.cli.main import main
from collector.config import CollectorConfig
from collector.serve import build_services
from collector.store.open import open_readonly
from collector.store.store import Store
from tests.support.loopback import served

ATTACKS = (
    "set threads = 1",
    "set global memory_limit = '1GB'",
    "reset lock_configuration",
    "set variable x = 1",
    "pragma memory_limit = '1GB'",
    "pragma database_list",
    "attach '{folder}/other.duckdb' as other",
    "copy (select 1) to '{folder}/out.csv'",
    "copy requests from '{folder}/in.csv'",
    "export database '{folder}/all'",
    "install httpfs",
    "load httpfs",
    "select * from read_csv('/etc/passwd')",
    "select * from read_text('{folder}/in.csv')",
    "select * from '{folder}/in.csv'",
    "from read_parquet('{folder}/*.parquet')",
    "select * from glob('/*')",
    "select getenv('HOME')",
    "select current_setting('allowed_directories')",
    "select * from duckdb_settings()",
    "call enable_logging()",
    "checkpoint",
    "select 1; set threads = 1",
)
#: Of these the database itself must refuse, whatever the guard thinks.
BEHIND = ("set threads = 1", "set global TimeZone = 'Asia/Tokyo'", "pragma memory_limit = '1GB'", "reset threads",
          "set lock_configuration = false", "set enable_external_access = true", "install httpfs",
          "select * from read_csv('/etc/passwd')", "copy (select 1) to '/tmp/sloscope-wall.csv'",
          "attach '/tmp/sloscope-wall.duckdb' as other")  # fmt: skip


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("walls")
    (folder / "in.csv").write_text("a\n1\n")
    Store.open(folder / "x.duckdb").close()
    return folder / "x.duckdb"


@pytest.fixture(scope="module")
def url(db: Path) -> Iterator[str]:
    with served(db) as address:
        yield address


@pytest.mark.parametrize("attack", ATTACKS)
def test_rest_and_the_command_refuse_it(attack: str, db: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    query = attack.format(folder=db.parent)
    answer = httpx.post(f"{url}/api/v1/sql", content=query)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:sloscope:problem:queryrefused")
    assert main(["sql", "--db", str(db), query]) == 1
    assert capsys.readouterr().out == ""
    known = {"in.csv", *(f"x.duckdb{end}" for end in ("", ".wal", ".serving", ".audit.jsonl"))}
    assert {path.name for path in db.parent.iterdir()} <= known


@pytest.mark.parametrize("attack", ATTACKS[::4])
def test_the_command_refuses_it_on_a_file_that_nobody_serves(
    attack: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.duckdb"
    Store.open(path).close()
    assert main(["sql", "--db", str(path), attack.format(folder=tmp_path)]) == 1
    assert capsys.readouterr().out == ""
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.duckdb"]


def test_the_database_of_a_guarded_file_refuses_it_too(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    Store.open(path).close()
    with open_readonly(path, guarded=True) as connection:
        _all_refused(connection.cursor)


def test_the_database_of_a_server_refuses_it_too(tmp_path: Path) -> None:
    services = build_services(CollectorConfig(db=str(tmp_path / "x.duckdb"), jobs=False))
    try:
        _all_refused(services.store.cursor)
    finally:
        services.writer.close()
        services.store.close()


def _all_refused(cursors: Callable[[], duckdb.DuckDBPyConnection]) -> None:
    for attack in BEHIND:
        with cursors() as cursor, pytest.raises(duckdb.Error, match=r"locked|disabled by configuration"):
            cursor.execute(attack)


def test_times_are_shown_in_utc_behind_locked_settings(tmp_path: Path) -> None:
    services = build_services(CollectorConfig(db=str(tmp_path / "x.duckdb"), jobs=False))
    try:
        with services.store.cursor() as cursor:
            assert cursor.execute("select cast(timestamptz '2026-05-01 00:00:00+00' as varchar)").fetchall() == [
                ("2026-05-01 00:00:00+00",)
            ]
        services.store.backup(tmp_path / "copy.duckdb")
    finally:
        services.writer.close()
        services.store.close()
    assert (tmp_path / "copy.duckdb").exists()

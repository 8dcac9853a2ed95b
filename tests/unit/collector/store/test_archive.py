"""Days move into files without changing an answer: live, after reopening, and through guarded queries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.cli.place import FilePlace
from collector.importer.run import Options, import_sources
from collector.importer.sources import recognise
from collector.store.archive import boundary
from collector.store.store import Store
from signals.errors import QueryRefusedError, StoreError
from tests.support.loopback import served

DAY = datetime(2026, 5, 1, tzinfo=UTC)
QUERIES = (
    "select count(*) as n, sum(input_tokens) as tokens, min(ts) as first, max(ts) as last from requests",
    "select tenant, quantile_disc(ttft_seconds, 0.99) as p99 from requests group by all order by all",
    "select count(*) as n, sum(prompt_tokens) as tokens from engine_samples",
    "select * from ttft_p99 order by all",
    "select * from goodput order by all",
)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Three days of a request and a sample every 20 minutes."""
    moments = [DAY + timedelta(minutes=20 * number) for number in range(3 * 72)]
    requests, samples = tmp_path / "requests.csv", tmp_path / "engine_samples.csv"
    requests.write_text(
        "ts,model,tenant,status,input_tokens,ttft_seconds,e2e_seconds\n"
        + "".join(f"{ts.isoformat()},m,t{n % 3},ok,{n},{0.01 * n},{0.02 * n}\n" for n, ts in enumerate(moments))
    )
    samples.write_text(
        "ts,instance,model,prompt_tokens\n" + "".join(f"{ts.isoformat()},i,m,{n}\n" for n, ts in enumerate(moments))
    )
    path = tmp_path / "it's a store.duckdb"
    with Store.open(path) as store:
        sources = recognise((str(requests), str(samples))).sources
        assert import_sources(store, list(sources), Options(), lambda _: None).faults == []
    return path


def _answers(store: Store) -> list[object]:
    cursor = store.cursor()
    try:
        return [cursor.execute(query).fetchall() for query in QUERIES]
    finally:
        cursor.close()


def test_an_archive_changes_no_answer(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cold's store"
    until = DAY + timedelta(days=1, hours=7)
    with Store.open(database) as store:
        before = _answers(store)
        assert store.archive(folder, {"requests": until, "engine_samples": until}) == 2
        assert _answers(store) == before
        cursor = store.cursor()
        assert cursor.execute("select count(*) from stored.requests").fetchall() == [(144,)]
        assert boundary(cursor, "requests") == DAY + timedelta(days=1)
        cursor.close()
        assert store.archive(folder, {"requests": until, "engine_samples": until}) == 0
        assert store.archive(folder, {"requests": until + timedelta(days=1)}) == 1
        assert _answers(store) == before
    assert sorted(path.name for path in (folder / "requests").iterdir()) == ["2026-05-01.parquet", "2026-05-02.parquet"]
    with Store.open(database) as store:
        assert _answers(store) == before


def test_what_comes_for_an_archived_day_is_archived_too(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, until = tmp_path / "cold", {"requests": DAY + timedelta(days=2)}
    count = "select count(*), sum(input_tokens) from requests"
    with Store.open(database) as store:
        assert store.archive(folder, until) == 2
        before = store.cursor().execute(count).fetchall()[0]
        for number, hours in enumerate((3, 30, 4)):
            late = tmp_path / f"late-{number}" / "requests.csv"
            late.parent.mkdir()
            late.write_text(f"ts,model,status,input_tokens\n{(DAY + timedelta(hours=hours)).isoformat()},m,ok,1000\n")
            sources = list(recognise((str(late),)).sources)
            assert import_sources(store, sources, Options(), lambda _: None).faults == []
            with monkeypatch.context() as broken:
                broken.setattr("collector.store.archive._show_archive", _power_cut)
                with pytest.raises(InterruptedError):
                    store.archive(folder, until)
            assert store.archive(folder, until) == 1
            assert store.archive(folder, until) == 0
            seen = store.cursor().execute(count).fetchall()[0]
            assert (seen[0] - before[0], seen[1] - before[1]) == (number + 1, 1000 * (number + 1))
        assert store.cursor().execute("select count(*) from stored.requests").fetchall() == [(72,)]


def _power_cut(*_: object) -> None:
    raise InterruptedError


def test_guarded_queries_see_the_archive_and_nothing_else_on_disk(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cold's store"
    plain = [FilePlace(database, None).sql(query, None) for query in QUERIES]
    with Store.open(database) as store:
        store.archive(folder, {"requests": DAY + timedelta(days=2), "engine_samples": DAY + timedelta(days=1)})
    assert [FilePlace(database, None).sql(query, None) for query in QUERIES] == plain
    with pytest.raises(QueryRefusedError):
        FilePlace(database, None).sql(f"select * from '{tmp_path}/requests.csv'", None)
    with served(database) as url:
        from collector.cli.place import UrlPlace

        assert [UrlPlace(url, None, None).sql(query, None) for query in QUERIES] == plain


def test_a_relative_folder_is_found_from_anywhere(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.open(database) as store:
        before = _answers(store)
        store.archive(Path("cold"), {"requests": DAY + timedelta(days=1)})
    monkeypatch.chdir("/")
    with Store.open(database) as store:
        assert _answers(store) == before


def test_a_folder_that_cannot_be_written_leaves_everything_as_it_was(database: Path, tmp_path: Path) -> None:
    (tmp_path / "cold").mkdir()
    (tmp_path / "cold" / "requests").write_text("in the way")
    with Store.open(database) as store:
        before = _answers(store)
        with pytest.raises(StoreError, match="requests"):
            store.archive(tmp_path / "cold", {"requests": DAY + timedelta(days=1)})
        assert _answers(store) == before

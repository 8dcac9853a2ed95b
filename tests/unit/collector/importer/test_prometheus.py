"""A backfill from Prometheus stores the rows that the scraped pages themselves would have stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.demo.recording import unpack
from collector.importer import prometheus as module
from collector.importer.prometheus import parse_url
from collector.importer.run import Options, Outcome, import_sources
from collector.importer.sources import recognise
from collector.store.store import Store
from signals.errors import ConfigError
from tests.support.prometheus import FakePrometheus, prometheus

BEGIN, STEP, COUNT, FIRST = 1_780_000_000.0, 2.0, 9, 40
ROWS = {
    "engine_samples": "select * from engine_samples order by ts, model",
    "engine_bins": "select * from engine_bins order by ts, model, metric, edge_lo",
    "signal_samples": "select ts, instance, model, signal, cast(attributes as varchar) as attributes, value "
    "from signal_samples order by all",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a few pages of the burst, on an even clock."""
    recorded = unpack("vllm-live", tmp_path_factory.mktemp("whole"))
    target = tmp_path_factory.mktemp("few") / "vllm:8000"
    target.mkdir()
    lines = []
    for number in range(COUNT):
        (target / f"{number:04d}.txt").write_bytes((recorded / f"{FIRST + number:04d}.txt").read_bytes())
        lines.append(json.dumps({"n": number, "t": BEGIN + STEP * number, "status": 200}))
    (target / "index.jsonl").write_text("\n".join(lines) + "\n")
    return target


@pytest.fixture
def server(folder: Path) -> Iterator[FakePrometheus]:
    with prometheus() as fake:
        pages = {BEGIN + STEP * n: (folder / f"{n:04d}.txt").read_text() for n in range(COUNT)}
        fake.record("vllm:8000", "vllm", pages)
        yield fake


def _import(store: Store, *paths: str) -> Outcome:
    return import_sources(store, list(recognise(paths).sources), Options(), lambda _: None)


def _rows(store: Store, view: str) -> list[tuple[object, ...]]:
    cursor = store.cursor()
    try:
        return cursor.execute(ROWS[view]).fetchall()
    finally:
        cursor.close()


def _asks(server: FakePrometheus) -> str:
    place = server.url.removeprefix("http://")
    return f"prometheus://{place}?start={BEGIN}&end={BEGIN + STEP * (COUNT - 1)}&step={STEP:g}"


def test_the_rows_equal_those_of_the_pages(
    folder: Path, server: FakePrometheus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK_POINTS", 3)
    with Store.open(None) as pages, Store.open(None) as backfill:
        assert _import(pages, str(folder)).stored == {str(folder): COUNT}
        outcome = _import(backfill, _asks(server))
        assert (sum(outcome.stored.values()), outcome.faults) == (COUNT, [])
        for view in ROWS:
            assert _rows(backfill, view) == _rows(pages, view), view
            assert _rows(backfill, view)
    assert {query["path"] for query in server.queries} == {"/api/v1/query_range"}
    assert len(server.queries) > 1


def test_running_it_again_stores_nothing_and_goes_on_where_it_was_stopped(
    server: FakePrometheus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK_POINTS", 3)
    with Store.open(None) as store, Store.open(None) as whole:
        _import(whole, _asks(server))
        first = _asks(server).replace(f"end={BEGIN + STEP * (COUNT - 1)}", f"end={BEGIN + STEP * 3}")
        assert sum(_import(store, first).stored.values()) == 4
        again = _import(store, _asks(server))
        assert (sum(again.stored.values()), sum(again.known.values())) == (COUNT - 4, 4)
        assert sum(_import(store, _asks(server)).stored.values()) == 0
        assert _rows(store, "engine_samples") == _rows(whole, "engine_samples")


def test_a_server_that_refuses_is_a_fault_with_its_words(server: FakePrometheus) -> None:
    server.fails = 1
    with Store.open(None) as store:
        outcome = _import(store, _asks(server))
    (fault,) = outcome.faults
    assert "answered 503: overloaded" in fault


def test_nobody_there_is_a_fault(server: FakePrometheus) -> None:
    with Store.open(None) as store:
        outcome = _import(store, "prometheus://127.0.0.1:1?start=0&end=60")
    assert "does not answer" in outcome.faults[0]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "start: is needed"),
        ("start=2026-05-01T00:00:00Z&end=later", "end: expected RFC 3339"),
        ("start=10&end=5", "end: must be after start"),
        ("start=0&end=5&step=0", "step: expected more than 0"),
        ("start=0&end=5&step=often", "step: expected seconds"),
        ("start=0&end=5&stpe=3", "unknown parameter 'stpe'; did you mean 'step'"),
    ],
)
def test_a_wrong_parameter_is_named(query: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace("?", "[?]")):
        parse_url(f"prometheus://host:9090?{query}")


def test_times_may_be_words_and_https_is_a_parameter() -> None:
    found = parse_url("prometheus://host:9090/prom?start=2026-05-01T00:00:00Z&end=2026-05-01T01:00:00Z&tls=1&match=up")
    assert (found.base, found.end - found.start, found.match) == ("https://host:9090/prom", 3600.0, "up")

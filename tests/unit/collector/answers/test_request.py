"""One request's story: its stages in order, the unexplained rest of TTFT named, peers and instance of that minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import duckdb
import pytest

from collector.answers.request import request
from collector.store.reader import DuckReader
from signals.errors import UnknownNameError
from tests.support.public_store import public_store

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def _add(store: duckdb.DuckDBPyConnection, **row: object) -> None:
    given = {"ts": NOW, "model": "m", "status": "ok", "source": "joined", "trace_id": "t" * 32, **row}
    columns = ", ".join(given)
    store.execute(f"insert into requests ({columns}) values ({', '.join(f'${name}' for name in given)})", given)


@pytest.fixture
def store() -> duckdb.DuckDBPyConnection:
    return public_store()


def test_stages_follow_each_other_and_the_rest_of_ttft_is_named(store: duckdb.DuckDBPyConnection) -> None:
    _add(store, request_id="r", gateway_seconds=0.1, queue_seconds=0.5, prefill_seconds=0.2, decode_seconds=2.0,
         ttft_seconds=1.0)  # fmt: skip
    steps = request(DuckReader(store), NOW, request_id="r")["timeline"]
    assert isinstance(steps, list)
    assert [step["stage"] for step in steps] == ["gateway", "queue", "prefill", "other", "decode"]
    starts = [step["start_seconds"] for step in steps]
    assert starts == pytest.approx([0.0, 0.1, 0.6, 0.8, 1.0])
    assert steps[3]["seconds"] == pytest.approx(0.2)


def test_the_rest_is_named_also_when_decoding_is_not_known(store: duckdb.DuckDBPyConnection) -> None:
    _add(store, request_id="r", queue_seconds=0.5, ttft_seconds=1.0)
    steps = request(DuckReader(store), NOW, request_id="r")["timeline"]
    assert isinstance(steps, list)
    assert [(step["stage"], step["seconds"]) for step in steps] == [("queue", 0.5), ("other", 0.5)]


def test_a_request_without_stages_has_no_timeline(store: duckdb.DuckDBPyConnection) -> None:
    _add(store, request_id="r")
    assert request(DuckReader(store), NOW, request_id="r")["timeline"] == []


def test_a_trace_id_finds_it_too_and_says_how_many_more_there_are(store: duckdb.DuckDBPyConnection) -> None:
    _add(store, request_id="r1")
    _add(store, request_id="r2", ts=NOW + timedelta(seconds=1))
    answer = request(DuckReader(store), NOW, request_id="t" * 32)
    assert answer["request"]["request_id"] == "r2"  # type: ignore[index]
    assert (answer["others"], answer["trace_id"]) == (1, "t" * 32)


def test_peers_are_the_others_of_the_model_in_that_minute(store: duckdb.DuckDBPyConnection) -> None:
    _add(store, request_id="r", ttft_seconds=9.0)
    for number, (model, seconds) in enumerate([("m", 10), ("m", 20), ("m", 70), ("other", 10)]):
        _add(store, request_id=f"p{number}", model=model, ts=NOW + timedelta(seconds=seconds), ttft_seconds=0.5)
    peers = request(DuckReader(store), NOW, request_id="r")["peers"]
    assert (peers["requests"], peers["ttft_p99_seconds"]) == (2, 0.5)  # type: ignore[index]


def test_the_instance_is_shown_at_its_nearest_scrape(store: duckdb.DuckDBPyConnection) -> None:
    _add(store, request_id="r", instance="i")
    for seconds, queue in ((-90, 1), (-4, 7), (6, 3), (200, 9)):
        store.execute(
            "insert into engine_samples (ts, instance, model, scrape_state, queue_depth) "
            "values ($ts, 'i', 'm', 'ok', $q)",
            {"ts": NOW + timedelta(seconds=seconds), "q": queue},
        )
    instance = request(DuckReader(store), NOW, request_id="r")["instance"]
    assert [row["queue_depth"] for row in instance] == [7]  # type: ignore[union-attr]


def test_an_unknown_id_names_ids_that_look_like_it(store: duckdb.DuckDBPyConnection) -> None:
    _add(store, request_id="chatcmpl-abc123")
    with pytest.raises(UnknownNameError, match="chatcmpl-abc123"):
        request(DuckReader(store), NOW, request_id="abc12")

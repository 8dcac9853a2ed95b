"""Halves far apart in time become one request within the hour, once, and stay one whatever comes next."""

from __future__ import annotations

import pytest

from collector.store.store import Store
from signals.spans import RequestHalf
from tests.unit.collector.store.test_store import T0, ask, engine_half, gateway_half, halves

SECOND = 1_000_000_000
HOUR = 3_600 * SECOND
SOURCES = "select source, count(*) as n from requests group by source order by source"
TTFTS = "select sum(count) from latency_bins where metric = 'ttft_seconds' and step_seconds = 60"


def _stored(store: Store, *found: RequestHalf) -> None:
    number = ask(store, "select count(*) from stored.ledger")[0][0]
    assert isinstance(number, int)
    store.commit([halves(number, *found)])
    store.join()


def test_a_half_whose_clock_is_three_hours_late_is_joined_once_by_the_look_at_the_whole_day() -> None:
    with Store.open(None) as store:
        _stored(store, gateway_half(1))
        _stored(store, engine_half(1, start_ns=T0 + 3 * HOUR))
        assert ask(store, SOURCES) == [("engine", 1), ("gateway", 1)]
        assert store.join_far() == 1
        assert store.join_far() == 0
        assert ask(store, SOURCES) == [("joined", 1)]
        assert ask(store, TTFTS) == [(1,)]


def test_looking_in_small_steps_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collector.store.store.STEP", 2)
    with Store.open(None) as store:
        for number in range(5):
            _stored(store, gateway_half(number))
        for number in range(5):
            _stored(store, engine_half(number, start_ns=T0 + (6 + number) * HOUR // 2))
        assert store.join_far() == 5
        assert store.join_far() == 0
        assert ask(store, SOURCES) == [("joined", 5)]


def test_a_half_that_comes_three_hours_after_its_partner_began_is_found_at_once() -> None:
    with Store.open(None) as store:
        _stored(store, *(gateway_half(number) for number in range(3)))
        _stored(store, gateway_half(9, start_ns=T0 + 3 * HOUR))
        _stored(store, engine_half(1), engine_half(8, start_ns=T0 + 3 * HOUR))
        assert ask(store, SOURCES) == [("engine", 1), ("gateway", 3), ("joined", 1)]
        assert store.join_far() == 0


@pytest.mark.parametrize("first", ["gateway", "engine"])
def test_a_request_that_lasts_two_hours_is_found_from_its_end(first: str) -> None:
    gateway = gateway_half(1, end_ns=T0 + 2 * HOUR, e2e_seconds=7_200.0)
    engine = engine_half(1, start_ns=T0 + 2 * HOUR - 60 * SECOND)
    with Store.open(None) as store:
        for half in (gateway, engine) if first == "gateway" else (engine, gateway):
            _stored(store, half)
        assert ask(store, SOURCES) == [("joined", 1)]


@pytest.mark.parametrize("together", [True, False])
def test_what_comes_next_to_one_end_finds_the_other(together: bool) -> None:
    gateway, engine = gateway_half(1), engine_half(1, start_ns=T0 + 3 * HOUR)
    with Store.open(None) as store:
        if together:
            _stored(store, gateway, engine)
        else:
            _stored(store, gateway)
            _stored(store, engine)
            store.join_far()
        line = engine_half(1, side="log", key="l", part="l", start_ns=T0 + 3 * HOUR + SECOND, temperature=0.5)
        _stored(store, line)
        _stored(store, gateway_half(1, part="again", start_ns=T0 + SECOND, turn=4))
        assert ask(store, "select source, temperature, turn from requests") == [("joined", 0.5, 4)]
        assert ask(store, TTFTS) == [(1,)]


def test_a_chain_of_halves_each_near_the_next_is_found_whole() -> None:
    with Store.open(None) as store:
        for step in range(5):
            _stored(store, gateway_half(1, part=f"part {step}", start_ns=T0 + step * 700 * SECOND, turn=step))
        assert ask(store, "select count(*), max(turn) from requests") == [(1, 4)]


def test_where_it_looked_is_known_after_a_start(tmp_path: object) -> None:
    path = f"{tmp_path}/x.duckdb"
    with Store.open(path) as store:
        _stored(store, gateway_half(1))
        _stored(store, engine_half(1, start_ns=T0 + 3 * HOUR))
        store.join_far()
    with Store.open(path) as store:
        assert store.join_far() == 0
        _stored(store, gateway_half(1, part="more", start_ns=T0 + SECOND))
        assert ask(store, SOURCES) == [("joined", 1)]

"""Whatever the order and the grouping in which halves come, the same requests and the same counts result."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

import pytest

from collector.store.batch import HalfBatch
from collector.store.half_store import HalfStore
from collector.store.join import Joiner
from collector.store.store import Store
from signals.records import Identity, Scrape
from signals.spans import RequestHalf
from tests.unit.collector.store.test_store import T0, engine_half, gateway_half, halves, scrape

SECOND = 1_000_000_000
#: Seconds by which halves are moved: most not at all, some within reach of a join, some far beyond it.
SHIFTS = (0, 0, 0, 0, 600, 1_500, 10_800, -10_800)
Value = TypeVar("Value")
ROWS = "select * from requests order by all"
GROUP_BINS = (
    "select step_seconds, ts, metric, model, tenant, length_bucket, region, adapter, bin, sum(count) as n "
    "from latency_bins group by all having n <> 0 order by all"
)
INSTANCE_BINS = (
    "select ts, metric, model, instance, bin, sum(count) as n from instance_bins "
    "group by all having n <> 0 order by all"
)


class _Story:
    """Requests with retries, links, log lines, shared traces and gaps, as a seed tells them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.halves: list[RequestHalf] = []
        for number in range(self.random.randint(1, 12)):
            self._request(number)
        self.random.shuffle(self.halves)

    def _maybe(self, value: Value, share: float = 0.5) -> Value | None:
        return value if self.random.random() < share else None

    def _request(self, number: int) -> None:
        chance = self.random
        start = T0 + int(chance.random() * 600 * SECOND)
        match = self._maybe(f"id-{number}", 0.85)
        trace = self._maybe(f"tr-{chance.choice([number, chance.randint(0, 3)])}", 0.7)
        parts = chance.choice([0, 1, 1, 1, 2, 3])
        for part in range(parts):
            self._gateway(number, part, start, match if not part else self._maybe(match), trace)
        if parts and chance.random() < 0.2:
            self.halves.append(gateway_half(number, key=f"x{number}", part=f"x{number}/c", start_ns=start, match=None))
            self.halves.append(
                gateway_half(
                    number, part=f"g{number}/link", start_ns=start, match=None, alias=f"x{number}", tenant=None,
                    requested_model=None, e2e_seconds=None, status=None,
                )
            )  # fmt: skip
        for attempt in range(chance.choice([0, 1, 1, 1, 2])):
            self._engine(number, attempt, start, match, trace)

    def _gateway(self, number: int, part: int, start: int, match: str | None, trace: str | None) -> None:
        chance = self.random
        self.halves.append(
            gateway_half(
                number, part=f"g{number}/{part}", start_ns=start + part * SECOND // 10, match=match, trace_id=trace,
                end_ns=self._maybe(start + 5 * SECOND), model=self._maybe("m"), tenant=self._maybe("acme"),
                request_id=self._maybe(f"call-{number}"), attempts=self._maybe(chance.randint(0, 2)),
                ttft_seconds=self._maybe(chance.random()), e2e_seconds=self._maybe(5 * chance.random()),
                status=self._maybe(chance.choice(["ok", "error", "aborted"]), 0.8),
            )
        )  # fmt: skip

    def _engine(self, number: int, attempt: int, start: int, match: str | None, trace: str | None) -> None:
        chance = self.random
        begin = start + int((chance.random() * 1.5 - 0.3) * SECOND)
        instance = chance.choice(["i", "j", None])
        self.halves.append(
            engine_half(
                number, key=f"e{number}-{attempt}", part=f"e{number}/{attempt}", start_ns=begin, match=match,
                trace_id=self._maybe(trace), end_ns=self._maybe(begin + 3 * SECOND), instance=instance,
                model=self._maybe("m"), status=chance.choice(["ok", "ok", "error", None]),
                queue_seconds=self._maybe(chance.random()), prefix_hashes=self._maybe((1, 2), 0.2),
            )
        )  # fmt: skip
        if chance.random() < 0.3:
            self.halves.append(
                engine_half(
                    number, side="log", key=f"l{number}", part=f"l{number}/{attempt}", match=match, instance=instance,
                    start_ns=begin + int(chance.random() * SECOND), temperature=0.5, ttft_seconds=None,
                )
            )  # fmt: skip


def _told(groups: list[list[RequestHalf]], joins: Callable[[], bool], scrapes: list[Scrape]) -> list[object]:
    with Store.open(None) as store:
        store.commit(scrapes)
        for number, found in enumerate(groups):
            store.commit([HalfBatch(Identity("t", "t", number), tuple(found))])
            if joins():
                store.join()
        store.join()
        with store.cursor() as cursor:
            return [cursor.execute(query).fetchall() for query in (ROWS, GROUP_BINS, INSTANCE_BINS)]


@pytest.mark.parametrize("seed", range(3))
def test_any_order_and_any_grouping_tell_the_same(seed: int) -> None:
    story = _Story(seed)
    groups, place = [], 0
    while place < len(story.halves):
        size = story.random.choice([1, 3, 10])
        groups.append(story.halves[place : place + size])
        place += size
    scrapes = [scrape(1)] if seed % 3 else []
    whole = _told([story.halves], lambda: False, scrapes)
    assert whole[0]
    assert _told(groups, lambda: story.random.random() < 0.6, scrapes) == whole


@pytest.mark.parametrize("seed", range(4))
def test_halves_that_begin_hours_apart_tell_the_same_after_a_look_at_the_whole_day(seed: int) -> None:
    story = _Story(seed)
    chance = random.Random(seed)
    apart = [replace(half, start_ns=half.start_ns + chance.choice(SHIFTS) * SECOND) for half in story.halves]
    told = []
    for share in (0.0, 0.6):
        size = len(apart) if not share else 2
        with Store.open(None) as store:
            store.commit([scrape(1)])
            for number in range(0, len(apart), size):
                store.commit([HalfBatch(Identity("t", "t", number), tuple(apart[number : number + size]))])
                if chance.random() < share:
                    store.join()
                if chance.random() < share / 4:
                    store.join_far()
            store.join()
            store.join_far()
            with store.cursor() as cursor:
                told.append([cursor.execute(query).fetchall() for query in (ROWS, GROUP_BINS, INSTANCE_BINS)])
    assert told[0][0]
    assert told[0] == told[1]


def test_slices_of_a_long_queue_join_like_one(monkeypatch: pytest.MonkeyPatch) -> None:
    story = _Story(99)
    whole = _told([story.halves], lambda: False, [])
    monkeypatch.setattr("collector.store.join.SLICE", 3)
    monkeypatch.setattr("collector.store.half_store.HELD", 2)
    assert _told([[half] for half in story.halves], lambda: False, []) == whole


def test_halves_that_were_not_joined_before_the_end_are_joined_after_the_start(tmp_path: object) -> None:
    path = f"{tmp_path}/x.duckdb"
    with Store.open(path) as first:
        first.commit([halves(0, engine_half(1), gateway_half(2))])
        first.join()
        first.commit([halves(1, gateway_half(1), engine_half(2), engine_half(3))])
    with Store.open(path) as second:
        assert second.join() == 3
        assert second.join() == 0
        rows = second.cursor().execute("select source from requests order by ts").fetchall()
    assert rows == [("joined",), ("joined",), ("engine",)]


def test_numbers_go_on_when_every_half_is_dropped(tmp_path: object) -> None:
    path = f"{tmp_path}/x.duckdb"
    with Store.open(path) as store:
        store.commit([halves(0, engine_half(1))])
        store.join()
        store.run("collector.jobs", ["drop_halves", "drop_half_bodies"], {"requests": datetime(2100, 1, 1, tzinfo=UTC)})
    with Store.open(path) as store:
        store.commit([halves(1, engine_half(2))])
        assert store.join() == 1


def test_a_join_that_fails_is_tried_again_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(None) as store:
        store.commit([halves(0, engine_half(1), gateway_half(1))])
        write = Joiner._write

        def broken(joiner: Joiner, *found: object) -> None:
            write(joiner, *found)  # type: ignore[arg-type]  # what was given
            raise ValueError("no")

        monkeypatch.setattr(Joiner, "_write", broken)
        with pytest.raises(ValueError, match="no"):
            store.join()
        monkeypatch.setattr(Joiner, "_write", write)
        assert store.join() == 1
        with store.cursor() as cursor:
            assert cursor.execute("select count(*) from requests").fetchall() == [(1,)]
            counted = "select sum(count) from latency_bins where metric = 'ttft_seconds' and step_seconds = 60"
            assert cursor.execute(counted).fetchall() == [(1,)]


def test_a_log_line_that_came_before_its_span_is_no_second_request() -> None:
    with Store.open(None) as store:
        line = engine_half(1, side="log", key="l1", part="log/1", temperature=0.5, ttft_seconds=None)
        store.commit([halves(0, line)])
        store.join()
        store.commit([halves(1, engine_half(1))])
        store.join()
        with store.cursor() as cursor:
            rows = cursor.execute("select source, temperature, ttft_seconds from requests").fetchall()
    assert rows == [("log", 0.5, 0.5)]


def test_a_part_that_is_sent_twice_is_found_in_what_is_stored_and_in_what_comes() -> None:
    with Store.open(None) as store:
        keeper: HalfStore = store._joiner.halves
        first = keeper.add([halves(0, engine_half(1), engine_half(1), gateway_half(1))])
        assert first is not None and (len(first.engines), len(first.gateways)) == (1, 1)
        again = keeper.add([halves(1, engine_half(1), engine_half(2))])
        assert again is not None and again.engines.body["match"].to_pylist() == ["id-2"]
        assert keeper.add([halves(2, engine_half(2))]) is None

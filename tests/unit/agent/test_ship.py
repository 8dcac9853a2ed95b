"""Deliveries: what a receiver's answers mean, waits, and what goes first while a backlog drains."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agent.config import CollectorConfig
from agent.encode import Batch
from agent.fetch import Answer
from agent.ship import Shipper, judge, retry_after
from agent.spool import METRICS, TRACES, Spool
from collector.receivers.decode import decode_resource, parse_export
from signals.records import Identity
from tests.unit.agent.support import START_NS, FakeClock, FakeWeb, encoded, new_spool, some_scrape, unreachable

METRICS_URL, TRACES_URL = "http://collector/v1/metrics", "http://collector/v1/traces"
TAKEN = Answer(200, {}, b"", 0.01)


def rig(folder: Path, **answers: object) -> tuple[Shipper, Spool, FakeWeb, FakeClock]:
    clock = FakeClock()
    spool = new_spool(folder, clock)
    web = FakeWeb({METRICS_URL: TAKEN, TRACES_URL: TAKEN})
    web.answers.update(answers)
    config = CollectorConfig(url="http://collector/")
    shipper = Shipper(
        config,
        spool,
        web,
        clock.wall_ns,
        lambda *_words: None,
        threading.Event(),
        random=lambda: 0.5,  # type: ignore[arg-type]
    )
    return shipper, spool, web, clock


def put(spool: Spool, number: int = 1) -> None:
    for _ in range(number):
        spool.put(METRICS, lambda identity: encoded(some_scrape(identity)))


def sequences(web: FakeWeb) -> list[list[int]]:
    """Return the sequence numbers of each delivery."""
    found = []
    for url, _, body in web.posted:
        if url == METRICS_URL:
            message = parse_export(zlib.decompress(body, 47))
            found.append([decode_resource(part).identity.sequence for part in message.resource_metrics])
    return found


def test_a_delivery_is_otlp_with_everything_in_it_and_then_the_disk_is_empty(tmp_path: Path) -> None:
    shipper, spool, web, _ = rig(tmp_path)
    put(spool, 3)
    spool.put(TRACES, lambda _identity: Batch(b"", b""))
    assert shipper.round() == 0.0
    assert sequences(web) == [[1, 2, 3]]
    assert [url for url, _, _ in web.posted] == [METRICS_URL, TRACES_URL]
    headers = web.posted[0][1]
    assert (headers["Content-Type"], headers["Content-Encoding"]) == ("application/x-protobuf", "gzip")
    assert spool.empty
    assert shipper.round() == -1.0


def test_a_token_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("one\n")
    shipper, spool, web, _ = rig(tmp_path)
    shipper.config = CollectorConfig(url="http://collector", token_file=str(secret))
    shipper.__post_init__()
    put(spool)
    shipper.round()
    secret.write_text("another\n")
    put(spool)
    shipper.round()
    assert [headers["Authorization"] for _, headers, _ in web.posted] == ["Bearer one", "Bearer another"]


def test_while_a_backlog_drains_live_batches_go_first(tmp_path: Path) -> None:
    shipper, spool, web, clock = rig(tmp_path, **{METRICS_URL: unreachable()})
    put(spool, 4)
    clock.seconds = 600.0
    put(spool, 2)
    assert shipper.round() > 0
    web.answers[METRICS_URL] = TAKEN
    web.posted.clear()
    shipper.round()
    assert sequences(web) == [[5, 6], [1, 2, 3, 4]]


def test_nothing_is_deleted_while_nobody_takes_it_and_connections_are_renewed(tmp_path: Path) -> None:
    shipper, spool, web, _ = rig(tmp_path, **{METRICS_URL: unreachable()})
    put(spool, 2)
    waits = [shipper.round() for _ in range(9)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert web.renewed == 9
    assert spool.backlog().batches == 2


def test_a_receiver_may_say_when_to_come_again(tmp_path: Path) -> None:
    busy = Answer(429, {"retry-after": "7"}, b"", 0.01)
    shipper, spool, _, _ = rig(tmp_path, **{METRICS_URL: busy})
    put(spool)
    assert shipper.round() == 7.5
    assert spool.backlog().batches == 1


def test_one_batch_that_nobody_will_take_does_not_hold_up_the_others(tmp_path: Path) -> None:
    shipper, spool, _, _ = rig(tmp_path)
    poison = 3

    class Picky(FakeWeb):
        def _answer(self, url: str) -> Answer:
            latest = sequences(self)[-1]
            return Answer(422, {}, b"schema 9", 0.01) if poison in latest else TAKEN

    picky = Picky()
    shipper.fetcher = picky  # type: ignore[assignment]
    put(spool, 5)
    shipper.round()
    taken = [number for chunk in sequences(picky) if poison not in chunk for number in chunk]
    assert sorted(taken) == [1, 2, 4, 5]
    assert (spool.backlog().batches, spool.dead()) == (0, 1)


@pytest.mark.parametrize("status", [401, 403, 404, 408, 409, 429, 500, 502, 503, 504])
def test_what_an_operator_can_mend_is_tried_again(status: int) -> None:
    verdict = judge(Answer(status, {}, b"", 0.0), START_NS)
    assert not verdict.taken
    assert verdict.refused is None


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_what_will_never_be_taken_is_refused_for_good(status: int) -> None:
    assert judge(Answer(status, {}, b"why", 0.0), START_NS).refused == f"HTTP {status}: why"


@pytest.mark.parametrize(
    ("text", "seconds"), [("12", 12.0), (None, None), ("soon", None), ("Fri, 15 Jan 2027 08:00:30 GMT", 30.0)]
)
def test_retry_after_is_seconds_or_a_date(text: str | None, seconds: float | None) -> None:
    assert retry_after(text, START_NS) == seconds


def test_the_last_delivery_stops_in_time_whatever_is_left(tmp_path: Path) -> None:
    shipper, spool, _, clock = rig(tmp_path)
    put(spool, 3)
    times: Sequence[float] = [0.0, 0.0, 9.0]
    ticks = iter(times)
    shipper.flush(2.0, lambda: next(ticks))
    assert spool.empty
    assert clock.seconds == 0.0


def test_the_last_delivery_waits_no_longer_than_there_is_time(tmp_path: Path) -> None:
    shipper, spool, _, _ = rig(tmp_path)
    limits: list[float] = []

    class Slow(FakeWeb):
        def post(self, url: str, headers: Mapping[str, str], body: bytes, limit_seconds: float) -> Answer:
            limits.append(limit_seconds)
            raise unreachable()

    shipper.fetcher = Slow()  # type: ignore[assignment]
    put(spool)
    shipper.flush(2.0, lambda: 100.0)
    assert limits == [2.0]
    assert spool.backlog().batches == 1


def test_clocks_that_differ_are_told(tmp_path: Path) -> None:
    shipper, spool, _, _ = rig(
        tmp_path, **{METRICS_URL: Answer(200, {"date": "Fri, 15 Jan 2027 09:00:00 GMT"}, b"", 0.01)}
    )
    told: list[float] = []
    shipper.offset = told.append
    put(spool)
    shipper.round()
    assert told == [pytest.approx(3600.5)]


def test_identities_are_given_by_the_spool_alone(tmp_path: Path) -> None:
    _, spool, _, _ = rig(tmp_path)
    assert spool.put(METRICS, lambda identity: encoded(some_scrape(identity))) == Identity("node", "e1", 1)

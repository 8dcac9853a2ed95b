"""Batches on disk: nothing is forgotten before it is delivered, and what must go is counted."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from agent.encode import Batch
from agent.memory import Memory
from agent.spool import METRICS, TRACES
from signals.errors import StoreError
from signals.readings import State
from signals.records import Identity
from tests.unit.agent.support import FakeClock, new_spool


def a_batch(identity: Identity) -> Batch:
    return Batch(b"attributes of %d" % identity.sequence, b"rest")


def a_memory(value: float = 4.0) -> Memory:
    state = State(1.5, {("m", "both"): (("a", "b"), [value, 2.0])}, {"gone": 3.0}, 2)
    return Memory(state, 99, (("m", "both"),))


def test_batches_wait_in_order_until_they_are_done(tmp_path: Path) -> None:
    spool = new_spool(tmp_path, FakeClock())
    for kind in (METRICS, TRACES, METRICS):
        spool.put(kind, a_batch)
    waiting = spool.waiting(METRICS, 10_000)
    assert [batch.batch.attributes for batch in waiting] == [b"attributes of 1", b"attributes of 3"]
    assert [batch.batch.attributes for batch in spool.waiting(METRICS, 1, newest_first=True)] == [b"attributes of 3"]
    spool.done(waiting)
    assert spool.backlog().batches == 1
    assert not spool.empty


def test_an_agent_that_comes_back_finds_its_batches_and_readings(tmp_path: Path) -> None:
    spool = new_spool(tmp_path, FakeClock())
    spool.put(METRICS, a_batch, "target", a_memory())
    spool.close()
    again = new_spool(tmp_path, FakeClock(), epoch="e2")
    assert again.backlog().batches == 1
    assert again.recall("target") == a_memory()
    assert again.recall("other") is None
    assert again.put(METRICS, a_batch) == Identity("node", "e2", 1)


def test_numbers_on_disk_are_not_used_again_while_a_delivery_is_under_way(tmp_path: Path) -> None:
    spool = new_spool(tmp_path, FakeClock())
    spool.put(METRICS, a_batch)
    sent = spool.waiting(METRICS, 10_000)
    spool.done(sent)
    spool.put(METRICS, a_batch)
    spool.done(sent)
    assert spool.backlog().batches == 1


def test_above_the_cap_the_oldest_go_and_are_counted(tmp_path: Path) -> None:
    lost: list[tuple[str, int]] = []
    spool = new_spool(tmp_path, FakeClock(), lambda reason, number: lost.append((reason, number)), max_bytes=500)
    for _ in range(30):
        spool.put(METRICS, a_batch)
    kept = [batch.batch.attributes for batch in spool.waiting(METRICS, 10_000)]
    assert kept[-1] == b"attributes of 30"
    assert spool.backlog().bytes <= 500
    assert sum(number for _, number in lost) + len(kept) == 30
    assert {reason for reason, _ in lost} == {"full"}


def test_batches_that_are_too_old_go_and_are_counted(tmp_path: Path) -> None:
    lost: list[tuple[str, int]] = []
    clock = FakeClock()
    spool = new_spool(tmp_path, clock, lambda reason, number: lost.append((reason, number)), max_age_seconds=60.0)
    spool.put(METRICS, a_batch)
    clock.seconds = 120.0
    spool.put(METRICS, a_batch)
    assert lost == [("old", 1)]
    assert spool.backlog().batches == 1


def test_a_full_disk_costs_the_oldest_batches_and_never_the_newest(tmp_path: Path) -> None:
    lost: list[tuple[str, int]] = []
    spool = new_spool(tmp_path, FakeClock(), lambda reason, number: lost.append((reason, number)))
    assert spool._db is not None
    spool._db.execute("pragma max_page_count = 40")

    def incompressible(identity: Identity) -> Batch:
        import hashlib

        body = b"".join(hashlib.sha256(b"%d %d" % (identity.sequence, n)).digest() for n in range(60))
        return Batch(b"attributes of %d" % identity.sequence, body)

    for _ in range(200):
        spool.put(METRICS, incompressible)
    kept = spool.waiting(METRICS, 10**9)
    assert kept[-1].batch.attributes == b"attributes of 200"
    assert lost
    assert {reason for reason, _ in lost} == {"disk_full"}
    assert sum(number for _, number in lost) + len(kept) == 200


def test_a_number_that_never_reached_the_disk_is_given_again(tmp_path: Path) -> None:
    spool = new_spool(tmp_path, FakeClock())

    def broken(_identity: Identity) -> Batch:
        raise ValueError("cannot be encoded")

    with pytest.raises(ValueError, match="encoded"):
        spool.put(METRICS, broken)
    assert spool.put(METRICS, a_batch).sequence == 1


def test_a_broken_file_is_put_aside_and_the_agent_goes_on(tmp_path: Path) -> None:
    (tmp_path / "spool.db").write_bytes(b"this is no database at all" * 100)
    lost: list[tuple[str, int]] = []
    spool = new_spool(tmp_path, FakeClock(), lambda reason, number: lost.append((reason, number)))
    spool.put(METRICS, a_batch)
    assert spool.backlog().batches == 1
    assert lost == [("corrupt", 1)]
    assert len(list(tmp_path.glob("spool.db.corrupt-*"))) == 1


def test_a_file_that_breaks_under_the_running_agent_is_put_aside_too(tmp_path: Path) -> None:
    lost: list[tuple[str, int]] = []
    spool = new_spool(tmp_path, FakeClock(), lambda reason, number: lost.append((reason, number)))
    spool.put(METRICS, a_batch)
    assert spool._db is not None

    class Broken:
        in_transaction = False

        def execute(self, *_words: object) -> None:
            raise sqlite3.DatabaseError("database disk image is malformed")

        def close(self) -> None:
            pass

    spool._db.close()
    spool._db = Broken()  # type: ignore[assignment]
    spool.put(METRICS, a_batch)
    assert spool.backlog().batches == 1
    assert lost == [("corrupt", 1)]


def test_a_folder_that_may_not_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "spool.db").mkdir()
    with pytest.raises(StoreError, match=r"spool\.db"):
        new_spool(tmp_path, FakeClock())


def test_refused_batches_are_kept_aside_with_the_reason(tmp_path: Path) -> None:
    spool = new_spool(tmp_path, FakeClock())
    spool.put(METRICS, a_batch)
    (batch,) = spool.waiting(METRICS, 1)
    spool.refuse(batch, "HTTP 422: schema 9")
    assert (spool.backlog().batches, spool.dead()) == (0, 1)


def test_readings_that_do_not_fit_together_are_as_good_as_none(tmp_path: Path) -> None:
    spool = new_spool(tmp_path, FakeClock())
    spool.put(METRICS, a_batch, "target", a_memory())
    assert spool._db is not None
    spool._db.execute("update readings set body = x'00'")
    assert spool.recall("target") is None


def test_readings_of_targets_long_gone_are_forgotten_with_their_layouts(tmp_path: Path) -> None:
    clock = FakeClock()
    spool = new_spool(tmp_path, clock)
    spool.put(METRICS, a_batch, "old", Memory(State(None, {("x", None): (("k",), [1.0])}), clock.wall_ns(), ()))
    clock.seconds = 8 * 86_400.0
    recent = Memory(a_memory().state, clock.wall_ns(), a_memory().groups)
    spool.put(METRICS, a_batch, "new", recent)
    spool.tidy()
    assert spool.recall("old") is None
    assert spool.recall("new") == recent
    assert spool._db is not None
    assert spool._db.execute("select count(*) from layouts").fetchone() == (1,)
    spool.put(METRICS, a_batch, "old", recent)
    assert spool.recall("old") == recent

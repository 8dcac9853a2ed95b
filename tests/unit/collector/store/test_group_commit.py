"""Many senders share transactions; each is told of its own batches, and one bad batch takes no neighbour with it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future

import pytest

from collector.store.batch import Batch, HalfBatch
from collector.store.group_commit import GroupCommit
from signals.errors import InputError, StoreError
from signals.records import Identity
from tests.support.scrapes import busy


class FakeStore:
    """Knows what it was given; `poison` makes a transaction fail that holds this sequence."""

    def __init__(self, poison: int | None = None, error: Exception | None = None) -> None:
        self.transactions: list[int] = []
        self.known: set[Identity] = set()
        self.joins = 0
        self.joined = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        self._poison = poison
        self._error = error or StoreError("refused")

    def commit(self, batches: Sequence[Batch]) -> list[bool]:
        self.gate.wait(60)
        identities = [batch.identity for batch in batches if not isinstance(batch, type(None))]  # type: ignore[union-attr]  # no columns here
        if any(identity.sequence == self._poison for identity in identities):
            raise self._error
        self.transactions.append(len(batches))
        stored = [identity not in self.known for identity in identities]
        self.known.update(identities)
        return stored

    def join_some(self) -> int | None:
        if self.joined.is_set():
            return None
        self.joins += 1
        self.joined.set()
        return 1


def results(futures: Sequence[Future[list[bool]]]) -> list[list[bool] | str]:
    found: list[list[bool] | str] = []
    for future in futures:
        error = future.exception(60)
        found.append(type(error).__name__ if error else future.result())
    return found


def test_submissions_that_wait_share_one_transaction() -> None:
    store = FakeStore()
    store.gate.clear()
    writer = GroupCommit(store, linger_seconds=0.0)
    futures = [writer.submit([busy(0)])]
    futures += [writer.submit([busy(number), busy(number + 100)]) for number in range(1, 6)]
    store.gate.set()
    assert results(futures) == [[True]] + [[True, True]] * 5
    writer.close()
    assert len(store.transactions) <= 3
    assert sum(store.transactions) == 11


def test_each_sender_learns_what_was_known_already() -> None:
    writer = GroupCommit(FakeStore(), linger_seconds=0.0)
    assert results([writer.submit([busy(1), busy(2)])]) == [[True, True]]
    assert results([writer.submit([busy(2), busy(3)])]) == [[False, True]]
    writer.close()


def test_one_bad_batch_takes_no_neighbour_with_it() -> None:
    store = FakeStore(poison=2)
    store.gate.clear()
    writer = GroupCommit(store, linger_seconds=0.05)
    futures = [writer.submit([busy(number)]) for number in (1, 2, 3)]
    store.gate.set()
    assert results(futures) == [[True], "StoreError", [True]]
    assert writer.counts.failed == 1
    writer.close()


@pytest.mark.parametrize("cause", [ValueError("year 60000"), OverflowError("too big"), TypeError("no number")])
def test_data_that_cannot_be_stored_is_the_senders_fault(cause: Exception) -> None:
    writer = GroupCommit(FakeStore(poison=1, error=cause), linger_seconds=0.0)
    with pytest.raises(InputError, match="cannot be stored"):
        writer.submit([busy(1)]).result(60)
    assert results([writer.submit([busy(2)])]) == [[True]]
    writer.close()


def test_halves_are_joined_after_their_commit() -> None:
    store = FakeStore()
    writer = GroupCommit(store, linger_seconds=0.0)
    writer.submit([busy(1)]).result(60)
    writer.submit([HalfBatch(Identity("a", "b", 1), ())]).result(60)
    assert store.joined.wait(60)
    writer.close()
    assert store.joins == 1


def test_closing_commits_what_was_submitted_and_takes_nothing_more() -> None:
    writer = GroupCommit(FakeStore(), linger_seconds=0.0)
    future = writer.submit([busy(1)])
    writer.close()
    assert results([future]) == [[True]]
    with pytest.raises(StoreError, match="shutting down"):
        writer.submit([busy(2)])


def test_a_full_queue_is_refused_and_can_be_sent_again() -> None:
    store = FakeStore()
    store.gate.clear()
    writer = GroupCommit(store, linger_seconds=0.0, max_waiting=2)
    futures = []
    with pytest.raises(StoreError) as caught:
        for number in range(20):
            futures.append(writer.submit([busy(number)]))  # noqa: PERF401  # those before the refusal count
    assert caught.value.data["retry_after"] == 5
    store.gate.set()
    assert all(result == [True] for result in results(futures))
    writer.close()


def test_a_sender_that_hangs_up_unmakes_no_commit() -> None:
    store = FakeStore()
    store.gate.clear()
    writer = GroupCommit(store, linger_seconds=0.0)
    future = writer.submit([busy(1)])
    assert not future.cancel()
    store.gate.set()
    assert results([future, writer.submit([busy(2)])]) == [[True], [True]]
    writer.close()


def test_tasks_run_on_the_writers_thread_and_cannot_end_it() -> None:
    writer = GroupCommit(FakeStore(), linger_seconds=0.0)
    names: list[str] = []
    done = threading.Event()

    def fails() -> None:
        names.append(threading.current_thread().name)
        raise StoreError("no")

    writer.work(fails)
    writer.work(done.set)
    assert done.wait(60)
    assert names == ["sloscope-writer"]
    assert writer.alive
    writer.close()

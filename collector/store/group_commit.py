"""Groups the batches of many senders into few transactions on one writer thread; never acknowledges before commit.

A batch that the store refuses must not take its neighbours with it: when a group fails with bad data it is committed
again one submission at a time. A full or read-only disk fails every submission, and each sender keeps its batch.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

import duckdb
import pyarrow as pa

from collector.store.batch import Batch, HalfBatch
from signals.errors import InputError, SloscopeError, StoreError

#: Batches in one transaction at most: bounds the memory of a group and the time that others wait for it.
MAX_GROUP = 512
#: Pause after a join, and at least this many times as long as the join took: freshness against load.
JOIN_PAUSE_SECONDS = 1.0
JOIN_SHARE = 4.0
#: What a commit may raise without ending the writer thread; anything else is a defect that /readyz then shows.
SURVIVABLE = (SloscopeError, duckdb.Error, ValueError, TypeError, LookupError, ArithmeticError, OSError, MemoryError)
#: Of these the sender's data are the cause: sending them again cannot help.
DATA_FAULTS = (
    pa.ArrowInvalid,
    duckdb.DataError,
    duckdb.IntegrityError,
    duckdb.InvalidInputException,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
)


class Writer(Protocol):
    """What group commit needs of a store."""

    def commit(self, batches: Sequence[Batch]) -> list[bool]:
        """Store all batches in one transaction; True = stored, False = already known."""

    def join_some(self) -> int | None:
        """Join some pending halves into requests; return how many requests, None when no half was pending."""


@dataclass(frozen=True, slots=True)
class Submission:
    """Batches of one sender that are acknowledged together."""

    batches: tuple[Batch, ...]
    result: Future[list[bool]] = field(default_factory=Future)


@dataclass(slots=True)
class CommitCounts:
    """What the writer thread has done so far; read by /metrics."""

    transactions: int = 0
    stored: int = 0
    repeated: int = 0
    failed: int = 0
    joined: int = 0
    seconds: float = 0.0
    last_commit: float | None = None
    last_error: str | None = None
    #: Why the store refused the last commit that it was to make; None when it made it.
    refused: str | None = None


class GroupCommit:
    """One writer thread in front of a store.

    `linger_seconds` is how long a first submission waits for others; `max_waiting` bounds the queue, beyond it
    `submit` raises a StoreError that senders answer by sending again later. `work` queues a task of another part
    (joins, roll-ups) onto the same thread, so that nobody else writes.
    """

    def __init__(
        self,
        store: Writer,
        linger_seconds: float = 0.1,
        max_waiting: int = 2_000,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._linger = linger_seconds
        self._clock = clock
        self._queue: queue.Queue[Submission | Callable[[], None] | None] = queue.Queue(max_waiting)
        self._closed = threading.Event()
        self._halves_wait = False
        self._join_at = 0.0
        self.counts = CommitCounts()
        self._thread = threading.Thread(target=self._run, name="sloscope-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Return about how many submissions wait."""
        return self._queue.qsize()

    @property
    def alive(self) -> bool:
        """Return whether the writer thread runs."""
        return self._thread.is_alive()

    def submit(self, batches: Sequence[Batch]) -> Future[list[bool]]:
        """Queue batches; the future holds, for each, whether it was stored (False: already known)."""
        submission = Submission(tuple(batches))
        submission.result.set_running_or_notify_cancel()  # a sender that hangs up must not unmake a commit
        if not submission.batches:
            submission.result.set_result([])
            return submission.result
        self._put(submission)
        return submission.result

    def work(self, task: Callable[[], None]) -> None:
        """Run `task` on the writer thread between two transactions."""
        self._put(task)

    def probe(self, task: Callable[[], None]) -> None:
        """Run `task`, a write, on the writer thread: when it succeeds the store writes again."""

        def attempt() -> None:
            task()
            self.counts.refused = None

        self.work(attempt)

    def close(self) -> None:
        """Commit what was submitted, then stop the thread."""
        if not self._closed.is_set():
            self._closed.set()
            self._queue.put(None)
        self._thread.join()

    def _put(self, item: Submission | Callable[[], None]) -> None:
        if self._closed.is_set():
            raise StoreError("the collector is shutting down", retry_after=5)
        try:
            self._queue.put_nowait(item)
        except queue.Full:
            raise StoreError(
                f"{self._queue.maxsize} batches wait to be written; send again later", retry_after=5
            ) from None

    def _run(self) -> None:
        open_ = True
        while open_:
            try:
                first = self._queue.get(timeout=self._until_join())
            except queue.Empty:
                self._join()
                continue
            group, tasks, open_ = self._gather(first)
            if group:
                self._commit(group)
                if any(isinstance(batch, HalfBatch) for submission in group for batch in submission.batches):
                    self._halves_wait = True
            for task in tasks:
                self._attempt(task)
            if self._halves_wait and self._until_join() == 0:
                self._join()
        while self._halves_wait:
            self._join()

    def _until_join(self) -> float | None:
        """Return seconds until halves are joined; None when none wait."""
        return max(0.0, self._join_at - time.monotonic()) if self._halves_wait else None

    def _gather(
        self, first: Submission | Callable[[], None] | None
    ) -> tuple[list[Submission], list[Callable[[], None]], bool]:
        """Collect what arrives within the linger; return (submissions, tasks, whether to go on)."""
        group: list[Submission] = []
        tasks: list[Callable[[], None]] = []
        deadline = time.monotonic() + self._linger
        item: Submission | Callable[[], None] | None = first
        count = 0
        while item is not None:
            if isinstance(item, Submission):
                group.append(item)
                count += len(item.batches)
            else:
                tasks.append(item)
            left = deadline - time.monotonic()
            if count >= MAX_GROUP:
                return group, tasks, True
            try:
                item = self._queue.get(timeout=left) if left > 0 else self._queue.get_nowait()
            except queue.Empty:
                return group, tasks, True
        return group, tasks, False

    def _commit(self, group: list[Submission]) -> None:
        started = time.perf_counter()
        try:
            self._store_group(group)
        except SURVIVABLE as error:
            if len(group) == 1:
                self._fail(group[0], error)
            else:
                self._one_by_one(group)
        self.counts.seconds += time.perf_counter() - started

    def _one_by_one(self, group: list[Submission]) -> None:
        for submission in group:
            try:
                self._store_group([submission])
            except SURVIVABLE as error:
                self._fail(submission, error)

    def _store_group(self, group: list[Submission]) -> None:
        stored = self._store.commit([batch for submission in group for batch in submission.batches])
        self.counts.transactions += 1
        self.counts.stored += sum(stored)
        self.counts.repeated += len(stored) - sum(stored)
        self.counts.last_commit = self._clock()
        self.counts.refused = None
        place = 0
        for submission in group:
            submission.result.set_result(stored[place : place + len(submission.batches)])
            place += len(submission.batches)

    def _fail(self, submission: Submission, error: Exception) -> None:
        self.counts.failed += len(submission.batches)
        self.counts.last_error = str(error)
        told = _told(error)
        if not isinstance(told, InputError):
            self.counts.refused = told.message
        submission.result.set_exception(told)

    def _join(self) -> None:
        """Join some of what waits; the next join comes after a pause in which commits have the thread to themselves."""

        def join() -> None:
            joined = self._store.join_some()
            self.counts.joined += joined or 0
            self._halves_wait = joined is not None

        self._halves_wait = False
        started = time.monotonic()
        self._attempt(join)
        took = time.monotonic() - started
        self._join_at = started + took + max(JOIN_PAUSE_SECONDS, JOIN_SHARE * took)

    def _attempt(self, task: Callable[[], None]) -> None:
        try:
            task()
        except SURVIVABLE as error:
            self.counts.last_error = str(error)


def _told(error: Exception) -> SloscopeError:
    """Return what a sender is told: InputError (do not send again) where its data are the cause, else StoreError."""
    cause = error.__cause__ if isinstance(error, StoreError) else error
    if isinstance(cause, DATA_FAULTS) and not isinstance(error, InputError):
        return InputError(f"the batch cannot be stored: {str(error).splitlines()[0]}")
    return error if isinstance(error, SloscopeError) else StoreError(f"the batch could not be stored: {error}")

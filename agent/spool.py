"""Keeps batches on disk until they are delivered, and the last readings beside them; never sends anything.

A batch and the readings it was made from are written in one transaction, so that a restart neither repeats nor loses
an increment. SQLite in WAL mode with synchronous=NORMAL: a killed process loses nothing that was acknowledged to the
caller; a power cut may lose the last commits, never the file.
"""

from __future__ import annotations

import sqlite3
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from agent.encode import Batch
from agent.memory import Kept, Memory, freeze, thaw
from signals.errors import StoreError
from signals.records import Identity

METRICS, TRACES = "metrics", "traces"
SCHEMA = """
create table if not exists batches (
  id integer primary key, kind text not null, made_ns integer not null, size integer not null,
  body blob not null);
create table if not exists readings (target text primary key, good_ns integer not null, body blob not null, keys text);
create table if not exists layouts (name text primary key, keys blob not null);
create table if not exists marks (name text primary key, kept_ns integer not null, body text not null);
create table if not exists dead (
  id integer primary key autoincrement, kind text not null, made_ns integer not null, why text not null,
  body blob not null);
"""
#: Kept of the batches that a receiver refused for good, to be looked at; older ones go.
DEAD_ROWS = 200
_HEAD = struct.Struct("<I")
#: Dropped at once when the disk is full: enough to get on, few enough to keep what was promised.
DROP_ROWS = 50
#: Readings of a target that is away for longer are no use: its counters have begun anew.
READINGS_SECONDS = 7 * 86_400.0
EXPIRE_EVERY_NS = 10_000_000_000

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Waiting:
    """One batch on disk."""

    id: int
    kind: str
    made_ns: int
    batch: Batch
    size: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits: batches, their bytes on disk, and when the oldest was made."""

    batches: int
    bytes: int
    oldest_ns: int | None


@dataclass(slots=True)
class Spool:
    """A queue of batches in one SQLite file; safe for threads.

    agent and epoch name this life of the agent; `max_bytes` and `max_age_seconds` bound what waits, and the oldest
    goes first. `lost` is called with a reason and a number of batches.
    """

    path: Path
    agent: str
    epoch: str
    max_bytes: int
    max_age_seconds: float
    wall_ns: Callable[[], int]
    lost: Callable[[str, int], None]
    fresh: threading.Event = field(default_factory=threading.Event)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _db: sqlite3.Connection | None = None
    _sequence: int = 0
    _bytes: int = 0
    _batches: int = 0
    _layouts: set[str] = field(default_factory=set)
    _aged_ns: int = 0
    _last_id: int = 0

    def open(self) -> Spool:
        """Open or create the file; one that is broken is put aside and counted."""
        with self._lock:
            try:
                self._connect()
            except sqlite3.OperationalError as error:
                raise StoreError(f"{self.path}: {error}", path=str(self.path)) from error
            except sqlite3.DatabaseError:
                self._quarantine()
        return self

    def put(
        self,
        kind: str,
        encode: Callable[[Identity], Batch],
        target: str | None = None,
        memory: Memory | None = None,
        marks: Mapping[str, str] | None = None,
    ) -> Identity:
        """Number a batch, encode it and write it with what it was made from. Raise StoreError if it cannot be kept.

        memory: the readings behind a scrape. marks: how far the files behind it were read.
        """
        with self._lock:
            self._sequence += 1
            self._last_id += 1
            identity = Identity(self.agent, self.epoch, self._sequence)
            try:
                batch = encode(identity)
                body = zlib.compress(_HEAD.pack(len(batch.attributes)) + batch.attributes + batch.rest, 1)
                kept = freeze(memory) if target is not None and memory is not None else None
                self._guarded(lambda db: self._insert(db, kind, body, target, kept, marks or {}))
            except BaseException:
                self._sequence -= 1  # a number that nobody will ever see would look like a loss
                raise
            self._bytes += len(body)
            self._batches += 1
            self._enforce()
        self.fresh.set()
        return identity

    def waiting(self, kind: str, limit_bytes: int, newest_first: bool = False) -> list[Waiting]:
        """Return waiting batches, at most about `limit_bytes` of them and at least one."""
        order = "desc" if newest_first else "asc"
        found: list[Waiting] = []
        size = 0
        with self._lock:
            rows = self._guarded(
                lambda db: db.execute(
                    f"select id, kind, made_ns, size, body from batches where kind = ? order by id {order} limit 500",  # noqa: S608  # asc or desc
                    (kind,),
                ).fetchmany(500)
            )
        for id_, kind_, made_ns, length, body in rows:
            plain = zlib.decompress(body)
            (cut,) = _HEAD.unpack_from(plain)
            found.append(Waiting(id_, kind_, made_ns, Batch(plain[4 : 4 + cut], plain[4 + cut :]), length))
            size += len(plain)
            if size >= limit_bytes:
                break
        return found

    def done(self, delivered: Sequence[Waiting]) -> None:
        """Forget batches that were delivered."""
        with self._lock:
            gone = self._guarded(lambda db: _delete(db, delivered))
            self._account(gone)

    def refuse(self, batch: Waiting, why: str) -> None:
        """Move a batch that nobody will ever take aside; the newest of them are kept for people to look at."""

        def bury(db: sqlite3.Connection) -> list[Waiting]:
            body = zlib.compress(batch.batch.sealed(), 1)
            db.execute(
                "insert into dead (kind, made_ns, why, body) values (?, ?, ?, ?)",
                (batch.kind, batch.made_ns, why[:500], body),
            )
            db.execute("delete from dead where id <= (select max(id) from dead) - ?", (DEAD_ROWS,))
            return _delete(db, [batch])

        with self._lock:
            self._account(self._guarded(bury))

    @property
    def empty(self) -> bool:
        """Return whether nothing waits."""
        return self._batches == 0

    def recall(self, target: str) -> Memory | None:
        """Return the last readings of a target."""
        with self._lock:
            row = self._guarded(
                lambda db: db.execute(
                    "select layouts.name, layouts.keys, readings.body, readings.good_ns"
                    " from readings join layouts on layouts.name = readings.keys where target = ?",
                    (target,),
                ).fetchone()
            )
        return None if row is None else thaw(Kept(*row))

    def mark(self, marks: Mapping[str, str]) -> None:
        """Keep how far files were read without a batch."""
        with self._lock:
            self._guarded(lambda db: _keep_marks(db, marks, self.wall_ns()))

    def marks(self, prefix: str) -> dict[str, str]:
        """Return the marks whose names begin with a text."""
        with self._lock:
            rows = self._guarded(
                lambda db: db.execute(
                    "select name, body from marks where substr(name, 1, ?) = ?", (len(prefix), prefix)
                ).fetchall()
            )
        return dict(rows)

    def backlog(self) -> Backlog:
        with self._lock:
            row = self._guarded(lambda db: db.execute("select min(made_ns) from batches").fetchone())
            return Backlog(self._batches, self._bytes, row[0])

    def dead(self) -> int:
        with self._lock:
            return int(self._guarded(lambda db: db.execute("select count(*) from dead").fetchone())[0])

    def tidy(self) -> None:
        """Give the disk space of delivered batches back, and forget readings that nobody will go on from."""
        with self._lock:
            oldest = self.wall_ns() - int(max(self.max_age_seconds, READINGS_SECONDS) * 1e9)
            self._guarded(lambda db: _prune(db, oldest))
            if self._db is not None:
                self._layouts = {name for (name,) in self._db.execute("select name from layouts")}
                self._db.execute("pragma incremental_vacuum").fetchall()

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _connect(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self.path, timeout=5.0, isolation_level=None, check_same_thread=False)
        try:
            db.execute("pragma auto_vacuum = incremental")
            db.execute("pragma journal_mode = wal")
            db.execute("pragma synchronous = normal")
            db.execute("pragma journal_size_limit = 1000000")
            db.execute("pragma wal_autocheckpoint = 500")
            db.execute("pragma cache_size = -1000")
            db.executescript(SCHEMA)
            self._batches, self._bytes, newest = db.execute(
                "select count(*), coalesce(sum(size), 0), coalesce(max(id), 0) from batches"
            ).fetchone()
            # Numbers are never used twice while a delivery may be under way.
            self._last_id = max(self._last_id, newest)
            self._layouts = {name for (name,) in db.execute("select name from layouts")}
        except sqlite3.DatabaseError:
            db.close()
            raise
        self._db = db

    def _quarantine(self) -> None:
        """Put a broken file aside and start afresh: a monitor that cannot start is worse than a gap."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            part = Path(f"{self.path}{suffix}")
            if part.exists():
                part.rename(f"{self.path}.corrupt-{self.wall_ns()}{suffix}")
        self.lost("corrupt", max(1, self._batches))
        self._connect()

    def _guarded(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """Run one transaction; make room when the disk is full, start afresh when the file is broken."""
        for attempt in range(4):
            if self._db is None:
                self.open()
            assert self._db is not None
            try:
                return _transaction(self._db, work)
            except sqlite3.OperationalError as error:
                full = "full" in str(error) or "disk I/O" in str(error)
                if not full or attempt == 3 or not self._drop_oldest(DROP_ROWS, "disk_full"):
                    raise StoreError(f"{self.path}: {error}", path=str(self.path)) from error
            except sqlite3.DatabaseError as error:
                if attempt:
                    raise StoreError(f"{self.path}: {error}", path=str(self.path)) from error
                self._quarantine()
        raise StoreError(f"{self.path}: no room", path=str(self.path))

    def _insert(
        self,
        db: sqlite3.Connection,
        kind: str,
        body: bytes,
        target: str | None,
        kept: Kept | None,
        marks: Mapping[str, str],
    ) -> None:
        db.execute(
            "insert into batches (id, kind, made_ns, size, body) values (?, ?, ?, ?, ?)",
            (self._last_id, kind, self.wall_ns(), len(body), body),
        )
        _keep_marks(db, marks, self.wall_ns())
        if kept is None or target is None:
            return
        if kept.name not in self._layouts:
            db.execute("insert or replace into layouts (name, keys) values (?, ?)", (kept.name, kept.keys))
            self._layouts.add(kept.name)
        db.execute(
            "insert or replace into readings (target, good_ns, body, keys) values (?, ?, ?, ?)",
            (target, kept.good_ns, kept.body, kept.name),
        )

    def _account(self, gone: Iterable[Waiting]) -> None:
        for batch in gone:
            self._batches -= 1
            self._bytes -= batch.size

    def _enforce(self) -> None:
        """Drop the oldest batches above the caps on bytes and age."""
        while self._bytes > self.max_bytes and self._batches > 1:
            if not self._drop_oldest(max(1, self._batches // 100), "full"):
                return
        now = self.wall_ns()
        if now - self._aged_ns > EXPIRE_EVERY_NS:
            self._aged_ns = now
            limit = now - int(self.max_age_seconds * 1e9)
            while self._drop_oldest(DROP_ROWS, "old", limit):
                pass

    def _drop_oldest(self, rows: int, reason: str, before_ns: int | None = None) -> bool:
        """Return whether anything was dropped."""

        def drop(db: sqlite3.Connection) -> tuple[int, int]:
            newest = 2**62 if before_ns is None else before_ns
            count, size, last = db.execute(
                "select count(*), coalesce(sum(size), 0), max(id) from"
                " (select id, size from batches where made_ns < ? order by id limit ?)",
                (newest, rows),
            ).fetchone()
            if count:
                db.execute("delete from batches where id <= ? and made_ns < ?", (last, newest))
            return count, size

        assert self._db is not None
        try:
            count, size = _transaction(self._db, drop)
        except sqlite3.OperationalError:
            return False
        self._batches -= count
        self._bytes -= size
        if count:
            self.lost(reason, count)
        return count > 0


def _transaction(db: sqlite3.Connection, work: Callable[[sqlite3.Connection], R]) -> R:
    db.execute("begin immediate")
    try:
        found = work(db)
        db.execute("commit")
    except BaseException:
        if db.in_transaction:
            db.execute("rollback")
        raise
    return found


def _prune(db: sqlite3.Connection, oldest_ns: int) -> None:
    db.execute("delete from readings where good_ns < ?", (oldest_ns,))
    db.execute("delete from layouts where name not in (select keys from readings)")
    db.execute("delete from marks where kept_ns < ?", (oldest_ns,))


def _keep_marks(db: sqlite3.Connection, marks: Mapping[str, str], now_ns: int) -> None:
    for name, body in marks.items():
        db.execute("insert or replace into marks (name, kept_ns, body) values (?, ?, ?)", (name, now_ns, body))


def _delete(db: sqlite3.Connection, batches: Iterable[Waiting]) -> list[Waiting]:
    """Return those that were still there."""
    return [batch for batch in batches if db.execute("delete from batches where id = ?", (batch.id,)).rowcount]

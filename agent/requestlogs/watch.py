"""Follows every file of one pattern and spools the request halves in its lines; never keeps or logs a line's text.

How far a file was read is kept in the transaction that keeps the batch, so a killed agent neither repeats nor loses a
line. While much waits for delivery nothing is read: the files themselves are the queue.
"""

from __future__ import annotations

import glob
import json
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from agent.config import RequestLogConfig
from agent.log import log
from agent.requestlogs.encode import encode_halves
from agent.requestlogs.follow import Chunk, Follower
from agent.requestlogs.mark import Mark, parse_mark
from agent.schedule import Ticker
from agent.selfmetrics import SelfMetrics
from agent.spool import TRACES, Spool
from signals.errors import StoreError
from signals.requestlog import LogReader
from signals.spans import RequestHalf

#: Batches on disk above which reading waits, and their share of the spool: drop-oldest must never meet a log's lines.
BACKLOG_BYTES, BACKLOG_SHARE = 64_000_000, 4
#: A file that has not grown for so long is closed until it does.
ASLEEP_SECONDS = 900.0
#: A file that left the pattern is followed for so long after its last line: its writer may not have changed over yet.
GONE_SECONDS = 60.0
#: Marks of files that are still there are kept anew so often; the spool forgets them after a week.
REFRESH_SECONDS = 86_400.0
#: Wait for a look under way: long enough for a chunk, short enough that a hung file system does not hold up a stop.
STOP_SECONDS = 0.3
#: Of more files only the newest are followed, and only the last that grew are held open.
MAX_FILES, MAX_OPEN = 1_000, 100


@dataclass(slots=True)
class RequestLog:
    """One pattern's files and the thread that follows them."""

    config: RequestLogConfig
    spool: Spool
    metrics: SelfMetrics
    clock: Callable[[], float]
    exempt: frozenset[str] = frozenset()
    ticker: Ticker | None = None
    _reader: LogReader = field(default_factory=LogReader)
    _followers: dict[str, Follower] = field(default_factory=dict)
    _known: dict[str, Mark] = field(default_factory=dict)
    _warned: set[str] = field(default_factory=set)
    _gate: threading.Lock = field(default_factory=threading.Lock)
    _retired: bool = False
    _first: bool = True
    _refreshed_at: float = 0.0

    def __post_init__(self) -> None:
        self._reader = LogReader(self.config.engine, self.config.instance, self.config.model, self.exempt)

    def start(self) -> RequestLog:
        self.recall()
        name = f"requests {self.config.path}"
        self.ticker = Ticker(name, self.config.interval_seconds, self.step, self.clock, self._failed).start()
        return self

    def recall(self) -> None:
        """Take up the marks that an earlier life of the agent left."""
        kept = self.spool.marks(self._prefix)
        found = {name: parse_mark(body) for name, body in kept.items()}
        self._known = {name: mark for name, mark in found.items() if mark is not None}
        self._refreshed_at = self.clock()

    def stop(self) -> None:
        """Stop; nothing of a look that is still under way reaches the disk. Waits for none that hangs."""
        if self.ticker is not None:
            self.ticker.stop()
        self._retired = True
        if self._gate.acquire(timeout=STOP_SECONDS):
            for follower in self._followers.values():
                follower.close()
            self._gate.release()

    def step(self) -> None:
        """Look at every file once and take what was added."""
        with self._gate:
            here = self._find()
            crowded = self._crowded()
            for follower in list(self._followers.values()):
                if not self._retired and not crowded:
                    crowded = self._follow(follower, here)
            self._first = False
            self._refresh(here)
        self.metrics.log_files.labels(self.config.path).set(len(here))
        self.metrics.log_unread.labels(self.config.path).set(sum(f.unread() for f in self._followers.values()))

    @property
    def _prefix(self) -> str:
        return f"{self.config.path} "

    def _find(self) -> dict[str, os.stat_result]:
        """Return the files of the pattern by name, and follow those that are new."""
        found: dict[str, tuple[str, os.stat_result]] = {}
        for text in glob.glob(self.config.path, recursive=True):  # noqa: PTH207 # an absolute pattern
            try:
                facts = os.stat(text)  # noqa: PTH116 # one call a file a second
            except OSError:
                continue
            if stat.S_ISREG(facts.st_mode):
                found.setdefault(f"{self._prefix}{facts.st_dev}:{facts.st_ino}", (text, facts))
        names = sorted(found, key=lambda name: (found[name][1].st_mtime_ns, found[name][0]))[-MAX_FILES:]
        for name in names:
            text, facts = found[name]
            follower = self._followers.get(name)
            if follower is None:
                self._begin(name, Path(text), facts)
            elif str(follower.path) != text:
                follower.path = Path(text)
        return {name: found[name][1] for name in names}

    def _begin(self, name: str, path: Path, facts: os.stat_result) -> None:
        mark = self._known.get(name)
        follower = Follower(path, name, mark or Mark(), self.config.line_bytes, grown_at=self.clock())
        if self._opened(follower):
            if mark is None or follower.mark != mark:
                self._place(follower, facts.st_size)
            self._followers[name] = follower

    def _place(self, follower: Follower, size: int) -> None:
        """Choose where to begin in a file that was never read: behind what a copy of it had, else beginning or end."""
        for known in {**self._known, **{name: other.mark for name, other in self._followers.items()}}.values():
            if known.offset > follower.mark.offset and follower.is_copy(known):
                follower.mark = known
        if self._first and self.config.start == "end" and not follower.mark.offset:
            follower.mark = follower.end(size)

    def _opened(self, follower: Follower) -> bool:
        try:
            inode = follower.open()
        except OSError as error:
            self._warn(follower, f"cannot be read: {error.strerror}")
            return False
        if follower.name != f"{self._prefix}{inode}":
            follower.close()  # it was rotated since it was found; the next look finds both
            return False
        self._spare(follower)
        return True

    def _spare(self, newest: Follower) -> None:
        """Close the file that has been quiet for longest when many are open; it is opened again when it grows."""
        others = [f for f in self._followers.values() if not f.asleep and not f.gone and f is not newest]
        if len(others) >= MAX_OPEN:
            min(others, key=lambda follower: follower.grown_at).close()

    def _follow(self, follower: Follower, here: dict[str, os.stat_result]) -> bool:
        """Take what was added to a file; return whether reading stopped because too much waits."""
        facts, now = here.get(follower.name), self.clock()
        follower.gone = facts is None
        if follower.asleep:
            if facts is None:
                self._known[follower.name] = self._followers.pop(follower.name).mark
                return False
            if not (follower.behind or follower.differs(facts)) or not self._opened(follower):
                return False
            follower.grown_at = now
        else:
            follower.look(now)
        follower.behind = not self._reads(follower)
        if not follower.behind and now - follower.grown_at > (GONE_SECONDS if facts is None else ASLEEP_SECONDS):
            self._take(follower, follower.rest())
            follower.close()
        return follower.behind

    def _reads(self, follower: Follower) -> bool:
        """Read until there is no more, or too much waits; return whether all was read."""
        while (chunk := follower.read()) is not None:
            if not self._take(follower, chunk) or self._crowded():
                return False
        if follower.broken is not None:
            self._warn(follower, f"broken gzip data: {follower.broken}")
        return True

    def _crowded(self) -> bool:
        return self.spool.backlog().bytes > min(BACKLOG_BYTES, self.spool.max_bytes // BACKLOG_SHARE)

    def _take(self, follower: Follower, chunk: Chunk | None) -> bool:
        """Spool the halves of a chunk together with how far it goes; return whether that worked."""
        if chunk is None:
            return True
        halves, bad = self._halves(follower, chunk)
        if self._retired:
            return False
        marks = {follower.name: chunk.mark.text()}
        try:
            if halves:
                self.spool.put(TRACES, lambda identity: encode_halves(halves, identity), marks=marks)
            else:
                self.spool.mark(marks)
        except StoreError as error:
            log.error("%s: not kept, it is read again: %s", follower.path, error)
            follower.rewind()
            return False
        follower.keep(chunk)
        counts = (("request", len(halves)), ("bad", bad), ("other", len(chunk.lines) - len(halves) - bad),
                  ("too_long", chunk.too_long))  # fmt: skip
        for outcome, number in counts:
            if number:
                self.metrics.log_lines.labels(self.config.path, outcome).inc(number)
        return True

    def _halves(self, follower: Follower, chunk: Chunk) -> tuple[list[RequestHalf], int]:
        """Return the halves of a chunk and the number of lines that are no JSON."""
        halves: list[RequestHalf] = []
        bad = 0
        if chunk.too_long:
            self._warn(follower, f"line {chunk.mark.lines + 1} is longer than {self.config.line_bytes} bytes")
        for number, line in chunk.lines:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                bad += 1
                self._warn(follower, f"line {number} is no JSON: {_why(error)}")
                continue
            half = self._reader.half(record)
            if half is not None:
                halves.append(half)
        return halves, bad

    def _warn(self, follower: Follower, why: str) -> None:
        """Say once a file what is wrong with it; the numbers count every case."""
        if follower.name not in self._warned:
            self._warned.add(follower.name)
            log.warning("%s: %s; further faults of this file are only counted", follower.path, why)

    def _refresh(self, here: dict[str, os.stat_result]) -> None:
        """Keep the marks of quiet files from being forgotten."""
        if self.clock() - self._refreshed_at < REFRESH_SECONDS:
            return
        self.spool.mark({name: self._followers[name].mark.text() for name in here if name in self._followers})
        self._warned &= here.keys()
        self.recall()

    def _failed(self, task: str) -> None:
        self.metrics.faults.labels(task).inc()


def _why(error: Exception) -> str:
    """Return an error without the text around it."""
    return error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__

"""Follows one log file from a mark on: whole lines as they are added, through truncation; parses nothing.

The file is held open by its inode, so a rename does not interrupt it. Memory is bounded by the longest line allowed.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from agent.requestlogs.mark import Mark, seam
from agent.requestlogs.streams import Gzipped, Plain, Stream

#: Read at once: about 300 lines, which is also what one batch holds.
CHUNK_BYTES = 256 * 1024
#: The two bytes that a gzipped file begins with (RFC 1952).
MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole lines with their numbers, where reading goes on behind them, and how many lines were too long."""

    lines: tuple[tuple[int, bytes], ...]
    mark: Mark
    too_long: int = 0


@dataclass(slots=True)
class Follower:
    """One file.

    mark: what was kept. broken: why a gzipped file cannot be read on. behind: there may be lines that were not read.
    gone: the pattern no longer has it. grown_at: when it was last seen to grow.
    """

    path: Path
    name: str
    mark: Mark
    line_bytes: int
    broken: str | None = None
    behind: bool = True
    gone: bool = False
    grown_at: float = 0.0
    size: int = -1
    _written_ns: int = -1
    _file: int = -1
    _stream: Stream | None = None
    _pending: bytes = b""
    _done: int = 0

    def open(self) -> str:
        """Open the file and return its device and inode; a place that it does not have means that it was replaced."""
        self._file = os.open(self.path, os.O_RDONLY)
        facts = os.fstat(self._file)
        self._settle(facts)
        return f"{facts.st_dev}:{facts.st_ino}"

    @property
    def asleep(self) -> bool:
        """Return whether the file is closed for now."""
        return self._file < 0

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file, self._stream, self._pending = -1, None, b""

    def look(self, now: float) -> bool:
        """Return whether the file changed since the last look; one that shrank or was rewritten begins anew."""
        facts = os.fstat(self._file)
        if not self.differs(facts):
            return False
        self.grown_at = now
        self._settle(facts)
        return True

    def differs(self, facts: os.stat_result) -> bool:
        """Return whether the file was written to since the last look."""
        return (facts.st_size, facts.st_mtime_ns) != (self.size, self._written_ns)

    def read(self) -> Chunk | None:
        """Return the next whole lines, or None when there are none yet. Keep them with `keep`, or read again."""
        if self._stream is None:
            if self.size < len(MAGIC):
                return None
            self._begin()
        assert self._stream is not None
        too_long = 0
        while self.broken is None:
            try:
                more = self._stream.more(CHUNK_BYTES)
            except zlib.error as error:
                self.broken = str(error)
                return None
            if not more:
                return None
            data = self._pending + more
            cutting = self.mark.cutting
            cut = data.rfind(b"\n") + 1
            if not cut and not cutting and len(data) <= self.line_bytes:
                self._pending = data
                continue
            too_long += 0 if cut or cutting else 1
            used = cut or len(data)
            self._pending = data[used:]
            self._done += used
            return self._chunk(data[:used], bool(cut), too_long)
        return None

    def rest(self) -> Chunk | None:
        """Return the line at the end that nobody ended, for a file that has not grown in a long time."""
        if not self._pending or self.mark.cutting or self._stream is None:
            return None
        data, self._pending = self._pending, b""
        self._done += len(data)
        return self._chunk(data + b"\n", True, 0)

    def keep(self, chunk: Chunk) -> None:
        """Go on behind a chunk."""
        self.mark = chunk.mark

    def rewind(self) -> None:
        """Go back to what was kept."""
        self._stream, self._pending, self._done = None, b"", 0

    def is_copy(self, mark: Mark) -> bool:
        """Return whether another file's mark stands on the same bytes here: what is before it was read there."""
        return mark.holds(self._file, self.size)

    def end(self, size: int) -> Mark:
        """Return the mark behind everything that is there; a gzipped file has none but its beginning."""
        if os.pread(self._file, len(MAGIC), 0) == MAGIC:
            return Mark()
        tail = os.pread(self._file, CHUNK_BYTES, max(0, size - CHUNK_BYTES))
        offset = size - len(tail) + tail.rfind(b"\n") + 1
        return Mark(offset, 0, 0, False, seam(self._file, offset))

    def unread(self) -> int:
        """Return the bytes of the file that are not done with."""
        return max(0, self.size - self.mark.offset)

    def _chunk(self, data: bytes, whole: bool, too_long: int) -> Chunk:
        assert self._stream is not None
        offset, skip = self._stream.place(self._done)
        number = self.mark.lines
        lines = data.split(b"\n")[:-1] if whole else []
        found = tuple((number + place, line) for place, line in enumerate(lines, 1) if line.strip(b"\0 \t\r"))
        if self.mark.cutting and lines:
            found = tuple(entry for entry in found if entry[0] != number + 1)
        mark = Mark(offset, skip, number + len(lines), not whole, seam(self._file, offset))
        return Chunk(found, mark, too_long)

    def _settle(self, facts: os.stat_result) -> None:
        """Begin anew if the file is no longer what was read."""
        self.size, self._written_ns = facts.st_size, facts.st_mtime_ns
        size = self.size
        if self.mark.holds(self._file, size) and (self._stream is None or self._stream.read_to <= size):
            return
        self.broken = None
        self.mark = Mark()
        self.rewind()

    def _begin(self) -> None:
        zipped = os.pread(self._file, len(MAGIC), 0) == MAGIC
        mark = self.mark
        self._stream = Gzipped(self._file, mark.offset, mark.skip) if zipped else Plain(self._file, mark.offset)
        self._done = 0

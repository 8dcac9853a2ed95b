"""Reads the bytes that were added to an open file, plain or gzipped; knows no lines.

A gzipped log grows by members (Dynamo ends one at every flush) or by flushed blocks of one member. Reading can only
begin at a member, so a place inside one is its beginning and the plain bytes to skip.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field
from typing import Protocol

#: zlib's window for a gzip header and the largest history.
GZIP = 31


class Stream(Protocol):
    """Bytes behind a place; `read_to` is how far the file itself was read."""

    read_to: int

    def more(self, most: int) -> bytes:
        """Return at most about `most` plain bytes that were not returned yet; none when the file has no more."""

    def place(self, plain: int) -> tuple[int, int]:
        """Return offset and skip of the place after so many of the returned bytes."""


@dataclass(slots=True)
class Plain:
    """A plain file from an offset on."""

    file: int
    start: int
    read_to: int = 0

    def __post_init__(self) -> None:
        self.read_to = self.start

    def more(self, most: int) -> bytes:
        data = os.pread(self.file, most, self.read_to)
        self.read_to += len(data)
        return data

    def place(self, plain: int) -> tuple[int, int]:
        return self.start + plain, 0


@dataclass(slots=True)
class Gzipped:
    """A gzipped file from the member at an offset on, without the first `skip` plain bytes. Raises zlib.error."""

    file: int
    start: int
    skip: int
    read_to: int = 0
    _unpacker: zlib._Decompress = field(default_factory=lambda: zlib.decompressobj(GZIP))
    _packed: bytes = b""
    _plain: int = 0
    #: Members that begin where nothing before them is needed: (offset, plain bytes before, counted from `start`).
    _members: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.read_to = self.start
        self._members = [(self.start, 0)]

    def more(self, most: int) -> bytes:
        while True:
            if not self._packed:
                self._packed = os.pread(self.file, most, self.read_to)
                self.read_to += len(self._packed)
            at_end = not self._packed
            data = self._unpacker.decompress(self._packed, most)  # of nothing: what the limit held back
            if at_end and not data:
                return b""
            self._packed = self._unpacker.unconsumed_tail
            if self._unpacker.eof:
                self._packed = self._unpacker.unused_data
                self._unpacker = zlib.decompressobj(GZIP)
                self._members.append((self.read_to - len(self._packed), self._plain + len(data)))
            before, self._plain = self._plain, self._plain + len(data)
            data = data[max(0, self.skip - before) :]
            if data:
                return data

    def place(self, plain: int) -> tuple[int, int]:
        at = self.skip + plain
        while len(self._members) > 1 and self._members[1][1] <= at:
            del self._members[0]
        offset, before = self._members[0]
        return offset, at - before

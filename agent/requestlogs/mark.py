"""Says where reading of a log goes on, and proves that it is still the same log; reads no line."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass

#: Bytes before the place that was read to: enough to hold the times and ids of one request.
SEAM_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file.

    offset: bytes of the file that are done with. skip: plain bytes after it that are too (inside a gzip member).
    lines: lines before it. cutting: it stands inside a line that is too long and is not wanted. seam: digest of the
    bytes before it, which no other file has there and no rewritten one keeps.
    """

    offset: int = 0
    skip: int = 0
    lines: int = 0
    cutting: bool = False
    seam: str = ""

    def text(self) -> str:
        return json.dumps(asdict(self))

    def holds(self, file: int, size: int) -> bool:
        """Return whether an open file of some size is the one that was read to this place."""
        return size >= self.offset and seam(file, self.offset) == self.seam


def parse_mark(text: str) -> Mark | None:
    """Return the mark in a text, or None when there is none."""
    try:
        return Mark(**json.loads(text))
    except (ValueError, TypeError):
        return None


def seam(file: int, offset: int) -> str:
    """Return the digest of the bytes of an open file before an offset."""
    if not offset:
        return ""
    length = min(SEAM_BYTES, offset)
    return hashlib.blake2b(os.pread(file, length, offset - length), digest_size=16).hexdigest()

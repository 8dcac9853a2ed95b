"""Reads request logs (JSON lines, also gzipped) into half batches through the dialects; prompts stay behind."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from collector.store.batch import HalfBatch
from signals.errors import InputError
from signals.records import Identity
from signals.requestlog import LogReader
from signals.spans import RequestHalf

#: Lines per batch.
LINES = 5_000
#: Lines that decide whether a file is a request log at all.
PROBE = 20


def log_batches(path: Path, instance: str | None, model: str | None, faults: list[str]) -> Iterator[HalfBatch] | None:
    """Return the half batches of a request log, or None when its first lines are none of a known shape."""
    reader = LogReader(instance=instance, model=model)
    if not any(half is not None for _, half in _lines(path, reader, [], PROBE)):
        return None
    return _batches(path, reader, faults)


def _batches(path: Path, reader: LogReader, faults: list[str]) -> Iterator[HalfBatch]:
    digest = hashlib.sha256()
    halves: list[RequestHalf] = []
    empty = 0
    for line, half in _lines(path, reader, faults, None):
        digest.update(line)
        if half is None:
            empty += 1
        else:
            halves.append(half)
        if len(halves) >= LINES:
            yield HalfBatch(Identity("import", digest.hexdigest(), 0), tuple(halves), empty)
            halves, empty = [], 0
    if halves or empty:
        yield HalfBatch(Identity("import", digest.hexdigest(), 0), tuple(halves), empty)


def _lines(
    path: Path, reader: LogReader, faults: list[str], most: int | None
) -> Iterator[tuple[bytes, RequestHalf | None]]:
    """Yield each line with its half; a line that is no JSON object is a fault that names it."""
    opener = gzip.open if path.name.endswith(".gz") else open
    try:
        with opener(path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if most is not None and number > most:
                    return
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except ValueError as error:
                    faults.append(f"{path}:{number}: no JSON: {error}")
                    continue
                yield line, reader.half(record)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}") from error

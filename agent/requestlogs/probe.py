"""Looks at the request logs of a configuration once, for `check` and `doctor`: are there files, do their lines tell."""

from __future__ import annotations

import glob
import gzip
import json
import os
from collections import Counter
from dataclasses import dataclass

from agent.config import RequestLogConfig
from signals.requestlog import LogReader

#: Lines of the newest file that are looked at.
LINES = 20
LINE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class LogLook:
    """What one pattern matches: files, the engines whose requests are in the newest one, and what is wrong."""

    path: str
    files: int
    engines: tuple[str, ...]
    fault: str | None = None


def look_at_log(config: RequestLogConfig) -> LogLook:
    """Return what a pattern matches now; a log without lines may still get some and is no fault."""
    paths = [path for path in glob.glob(config.path, recursive=True) if os.path.isfile(path)]  # noqa: PTH207, PTH113 # an absolute pattern
    if not paths:
        return LogLook(config.path, 0, (), "no file matches")
    newest = max(paths, key=os.path.getmtime)
    reader = LogReader(config.engine, config.instance, config.model)
    found: Counter[str] = Counter()
    read = models = 0
    try:
        opener = gzip.open if newest.endswith(".gz") else open
        with opener(newest, "rb") as lines:
            while read < LINES and (line := lines.readline(LINE_BYTES)):
                read += 1
                half = reader.half(_record(line))
                if half is not None:
                    found[half.engine or "unknown"] += 1
                    models += half.model is not None
    except EOFError:
        pass  # its last member is still being written
    except OSError as error:
        return LogLook(config.path, len(paths), (), f"{newest}: {error.strerror or error}")
    fault = None
    if read and not found:
        fault = f"{newest}: none of the first {read} lines tells of a request"
    elif sum(found.values()) > models:
        fault = f"{newest}: lines name no model; set `model`"
    return LogLook(config.path, len(paths), tuple(found), fault)


def _record(line: bytes) -> object:
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found

"""The agent's log: one line an event on stderr, with the time and the level; never a page, a prompt or a token."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

log = logging.getLogger("sloscope.agent")


def start_logging(level: str, stream: TextIO | None = None) -> None:
    """Send the log to a stream."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
    log.handlers[:] = [handler]
    log.setLevel(level.upper())
    log.propagate = False

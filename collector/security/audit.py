"""Records every SQL query and operate action as one JSON line; never a token, never a result."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

#: Where the log rolls over to PATH.1 (one older file is kept).
MAX_BYTES = 50 * 1024 * 1024
#: Longest text of one field; queries beyond it are cut.
MAX_TEXT = 10_000


@dataclass(slots=True)
class AuditLog:
    """An append-only file readable by its owner only. `fault` says why the last line could not be written."""

    path: Path | None
    clock: Callable[[], datetime]
    fault: str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def record(self, action: str, who: str, client: str, **details: object) -> None:
        """Append one line: when, what, who (token name), from where, and the action's own details."""
        if self.path is None:
            return
        line = {"ts": self.clock().isoformat().replace("+00:00", "Z"), "action": action, "who": who, "client": client}
        text = json.dumps({**line, **{key: _short(value) for key, value in details.items()}}, default=str) + "\n"
        with self._lock:
            try:
                self._roll()
                if not self.path.exists():
                    self.path.touch(mode=0o600)
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(text)
                self.fault = None
            except OSError as error:
                self.fault = f"the audit log cannot be written: {error.strerror}"

    def _roll(self) -> None:
        assert self.path is not None
        if self.path.exists() and self.path.stat().st_size > MAX_BYTES:
            self.path.replace(self.path.with_name(self.path.name + ".1"))


def _short(value: object) -> object:
    return value[:MAX_TEXT] if isinstance(value, str) else value

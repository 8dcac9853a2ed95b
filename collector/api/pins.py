"""Remembers what operators decided about scaling: pins and the freeze; a small file beside the database.

The file is written whole and renamed, so that a crash leaves the old or the new one.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from analytics.scaling import Pin
from signals.errors import StoreError


@dataclass(slots=True)
class PinBoard:
    """Pins by pool name and whether all recommendations are frozen; `path` None keeps them in memory."""

    path: Path | None
    clock: Callable[[], datetime]
    frozen: bool = False
    frozen_by: str | None = None
    _pins: dict[str, Pin] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            try:
                self._load(json.loads(self.path.read_text(encoding="utf-8")))
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                raise StoreError(f"{self.path} cannot be read as pins: {error}") from error

    def pins(self) -> dict[str, Pin]:
        """Return the pins that are still in force."""
        now = self.clock()
        with self._lock:
            return {pool: pin for pool, pin in self._pins.items() if pin.until > now}

    def pin(self, pool: str, instances: int, until: datetime, who: str) -> Pin:
        """Keep `pool` at `instances` until `until`."""
        with self._lock:
            self._pins[pool] = Pin(instances, until, who)
            self._save()
            return self._pins[pool]

    def unpin(self, pool: str) -> bool:
        """Lift the pin of a pool; return whether there was one."""
        with self._lock:
            had = self._pins.pop(pool, None) is not None
            self._save()
            return had

    def freeze(self, frozen: bool, who: str) -> None:
        """Hold every pool as it is, or let go."""
        with self._lock:
            self.frozen, self.frozen_by = frozen, who if frozen else None
            self._save()

    def document(self) -> dict[str, object]:
        """Return the board as plain data."""
        return {"pins": _plain(self.pins()), "frozen": self.frozen, "frozen_by": self.frozen_by}

    def _load(self, content: dict[str, object]) -> None:
        pins = content.get("pins", {})
        assert isinstance(pins, dict)
        self._pins = {
            str(pool): Pin(int(pin["instances"]), datetime.fromisoformat(pin["until"]), str(pin["by"]))
            for pool, pin in pins.items()
        }
        self.frozen = bool(content.get("frozen"))
        by = content.get("frozen_by")
        self.frozen_by = None if by is None else str(by)

    def _save(self) -> None:
        if self.path is None:
            return
        now = self.clock()
        kept = {pool: pin for pool, pin in self._pins.items() if pin.until > now}
        content = {"pins": _plain(kept), "frozen": self.frozen, "frozen_by": self.frozen_by}
        fresh = self.path.with_name(self.path.name + ".new")
        try:
            fresh.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
            fresh.replace(self.path)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be written: {error.strerror}") from error


def _plain(pins: Mapping[str, Pin]) -> dict[str, object]:
    return {
        pool: {"instances": pin.instances, "until": pin.until.isoformat().replace("+00:00", "Z"), "by": pin.by}
        for pool, pin in pins.items()
    }

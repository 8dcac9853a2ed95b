"""Counts what the HTTP side received, refused and answered; names become `sloscope_collector_*` on /metrics."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Counters:
    """Monotonic counts by (name, labels); safe from any thread."""

    _values: Counter[tuple[str, Labels]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        with self._lock:
            self._values[(name, tuple(sorted(labels.items())))] += amount  # type: ignore[assignment]  # seconds are counted too

    def items(self) -> list[tuple[str, Labels, float]]:
        with self._lock:
            return [(name, labels, float(value)) for (name, labels), value in sorted(self._values.items())]

    def value(self, name: str, **labels: str) -> float:
        return float(self._values[(name, tuple(sorted(labels.items())))])

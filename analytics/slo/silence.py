"""Says which alerts are held back for a while, who decided it and why; sends and stores nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from analytics.slo.objective import DIMENSIONS

#: Labels of an alert that a silence may match.
MATCHABLE: tuple[str, ...] = ("alertname", "severity", "objective", *DIMENSIONS)


@dataclass(frozen=True, slots=True)
class Silence:
    """Alerts whose labels equal all of `match` are not sent in [start, end)."""

    match: Mapping[str, str]
    start: datetime
    end: datetime
    decided_by: str
    reason: str

    def covers(self, labels: Mapping[str, str], now: datetime) -> bool:
        """Say whether an alert with these labels is held back at a moment."""
        return self.start <= now < self.end and all(labels.get(name) == value for name, value in self.match.items())

"""Names requests that are left out of totals (load tests, maintenance) with who decided it and why; counts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Requests whose event time lies in [start, end) and whose dimensions match `only` count as excluded.

    `start` or `end` None leaves that side open: a load-test tenant is excluded for good.
    """

    name: str
    reason: str
    decided_by: str
    start: datetime | None = None
    end: datetime | None = None
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def as_key(self) -> list[object]:
        """Return what decides which requests it covers, for the objective's revision."""
        moments = [None if moment is None else moment.isoformat() for moment in (self.start, self.end)]
        return [*moments, sorted((key, sorted(values)) for key, values in self.only.items())]

"""The parts of a collector for tests of jobs: a real store and a clock that a test moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from collector.api.pins import PinBoard
from collector.api.services import Services
from collector.config import CollectorConfig
from collector.serve import build_services


@dataclass(slots=True)
class Clock:
    """A clock that stands until it is moved."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


@contextmanager
def parts_of(database: Path | None, clock: Clock, **settings: object) -> Iterator[Services]:
    """Yield the parts over a store file, or over one in memory."""
    config = CollectorConfig(db=str(database or ":memory:"), linger_seconds=0.0, **settings)  # type: ignore[arg-type]
    parts = replace(build_services(config), clock=clock, pins=PinBoard(None, clock))
    try:
        yield parts
    finally:
        parts.writer.close()
        parts.store.close()


def ask(parts: Services, query: str) -> list[tuple[object, ...]]:
    """Return the rows of a query."""
    cursor = parts.store.cursor()
    try:
        rows: list[tuple[object, ...]] = cursor.execute(query).fetchall()
        return rows
    finally:
        cursor.close()

"""Remembers which batches are stored, so that a batch sent twice is stored once; the rows live in `stored.ledger`.

Agents number their batches: runs of numbers are kept as one range for ever. Senders that number nothing (remote-write,
plain OTLP metrics) are known by the time of a scrape in ms; they are forgotten by age, and what is older is refused.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

import duckdb
import pyarrow as pa

from collector.store.sqlfiles import sql
from collector.store.transaction import transaction
from signals.records import Identity

PACKAGE = "collector.store"
#: How senders' names begin whose sequence is a time in ms; `ledger_forget.sql` and `ledger_runs.sql` say the same.
TIMED = ("remote-write/", "otlp/")


@dataclass(slots=True)
class _Ranges:
    """Disjoint ranges in order, with both ends: 16 bytes each."""

    first: array[int] = field(default_factory=lambda: array("q"))
    last: array[int] = field(default_factory=lambda: array("q"))

    def holds(self, sequence: int) -> bool:
        place = bisect_right(self.first, sequence) - 1
        return place >= 0 and sequence <= self.last[place]

    def add(self, first: int, last: int) -> None:
        """Add a range that overlaps none, or one sequence that may be known."""
        place = bisect_right(self.first, first)
        if place and first <= self.last[place - 1]:
            return
        joins_left = place > 0 and self.last[place - 1] + 1 == first
        joins_right = place < len(self.first) and self.first[place] - 1 == last
        if joins_left and joins_right:
            self.last[place - 1] = self.last[place]
            del self.first[place], self.last[place]
        elif joins_left:
            self.last[place - 1] = last
        elif joins_right:
            self.first[place] = first
        else:
            self.first.insert(place, first)
            self.last.insert(place, last)

    def drop_below(self, sequence: int) -> None:
        end = bisect_left(self.last, sequence)
        del self.first[:end], self.last[:end]


@dataclass(slots=True)
class Ledger:
    """The identities of all stored batches: per (agent, epoch) the ranges of sequences."""

    _ranges: dict[tuple[str, str], _Ranges] = field(default_factory=dict)

    def known(self, identity: Identity) -> bool:
        found = self._ranges.get((identity.agent, identity.epoch))
        return found is not None and found.holds(identity.sequence)

    def add(self, identities: Iterable[Identity]) -> None:
        for identity in identities:
            self.add_run(identity.agent, identity.epoch, identity.sequence, identity.sequence)

    def add_run(self, agent: str, epoch: str, first: int, last: int) -> None:
        """Add the sequences from `first` to `last`, of which none is known if they are several."""
        self._ranges.setdefault((agent, epoch), _Ranges()).add(first, last)

    def forget_timed(self, before_ms: int) -> None:
        """Forget what timed senders sent before a time."""
        for key in [key for key in self._ranges if key[0].startswith(TIMED)]:
            self._ranges[key].drop_below(before_ms)
            if not self._ranges[key].first:
                del self._ranges[key]


def read_ledger(connection: duckdb.DuckDBPyConnection) -> Ledger:
    """Return what `stored.ledger` holds; the database finds the runs, so that Python sees few rows."""
    ledger = Ledger()
    cursor = connection.cursor()
    try:
        cursor.execute(sql(PACKAGE, "ledger_read"))
        while rows := cursor.fetchmany(10_000):
            for agent, epoch, first, last in rows:
                ledger.add_run(agent, epoch, first, last)
    finally:
        cursor.close()
    return ledger


def tidy_ledger(connection: duckdb.DuckDBPyConnection, closed: datetime, remembered: datetime) -> None:
    """Make one row of each run that was received before `closed`, drop timed rows before `remembered`."""
    with transaction(connection):
        connection.execute(sql(PACKAGE, "ledger_forget"), {"remembered": remembered})
        for name in ("ledger_runs", "ledger_clear"):
            connection.execute(sql(PACKAGE, name), {"closed": closed})
        connection.execute(sql(PACKAGE, "ledger_write"))


def ledger_table(identities: Iterable[Identity], now: datetime) -> pa.Table:
    """Return the rows of `stored.ledger` for batches that are received `now`."""
    rows = list(identities)
    return pa.table(
        {
            "agent": pa.array([identity.agent for identity in rows], type=pa.string()),
            "epoch": pa.array([identity.epoch for identity in rows], type=pa.string()),
            "sequence": pa.array([identity.sequence for identity in rows], type=pa.int64()),
            "received_at": pa.array([now] * len(rows), type=pa.timestamp("us", "UTC")),
        }
    )

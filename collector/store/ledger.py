"""Remembers which batches are stored, so that a batch sent twice is stored once; the rows live in `stored.ledger`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa

from signals.records import Identity


@dataclass(slots=True)
class Ledger:
    """The identities of all stored batches: per (agent, epoch) the disjoint ranges of sequences, sorted."""

    _ranges: dict[tuple[str, str], list[list[int]]] = field(default_factory=dict)

    def known(self, identity: Identity) -> bool:
        ranges = self._ranges.get((identity.agent, identity.epoch), [])
        place = bisect_right(ranges, [identity.sequence, 2**63]) - 1
        return place >= 0 and ranges[place][0] <= identity.sequence <= ranges[place][1]

    def add(self, identities: Iterable[Identity]) -> None:
        for identity in identities:
            self._insert((identity.agent, identity.epoch), identity.sequence)

    def _insert(self, sender: tuple[str, str], sequence: int) -> None:
        ranges = self._ranges.setdefault(sender, [])
        place = bisect_right(ranges, [sequence, 2**63])
        left = ranges[place - 1] if place else None
        right = ranges[place] if place < len(ranges) else None
        if left is not None and left[0] <= sequence <= left[1]:
            return
        joins_left = left is not None and left[1] + 1 == sequence
        joins_right = right is not None and right[0] - 1 == sequence
        if left is not None and right is not None and joins_left and joins_right:
            left[1] = right[1]
            del ranges[place]
        elif left is not None and joins_left:
            left[1] = sequence
        elif right is not None and joins_right:
            right[0] = sequence
        else:
            ranges.insert(place, [sequence, sequence])


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

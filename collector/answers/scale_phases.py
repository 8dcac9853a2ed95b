"""Gathers what engines told of the phases of their starts, by instance and life; measures nothing itself."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from analytics.scaling.phases import Start
from collector.store.reader import Reader, as_datetime
from signals.startup import phase_of

__all__ = ["Starts", "starts"]

#: By instance and the start of its process.
Starts = dict[tuple[str, datetime], Start]
#: A pod is placed and its image pulled before its process starts: so long before at most.
BEFORE = timedelta(minutes=30)
#: Starts of this time are looked at: gauges stand on every page, and more days of them would hold up the answer.
REACH = timedelta(days=3)
_EARLY = ("schedule", "pull")


def starts(reader: Reader, now: datetime, lives: dict[str, list[datetime]]) -> Starts:
    """Return what was told of each life of `lives` (times of process starts by instance, in order)."""
    rows = reader.columns("scale_phases", since=now - REACH, now=now)
    found: dict[tuple[str, datetime], list[tuple[str, float, float]]] = {}
    for row in range(len(rows["phase"])):
        instance, name = str(rows["instance"][row]), str(rows["phase"][row])
        begun, ended = rows["started_at"][row], as_datetime(rows["ended_at"][row])
        life = _life(
            lives.get(instance, []), None if np.isnat(begun) else as_datetime(begun), ended, phase_of(name) in _EARLY
        )
        if life is not None:
            end, seconds = ended.timestamp(), float(np.asarray(rows["seconds"])[row])
            found.setdefault((instance, life), []).append((name, end - seconds, end))
    return {
        key: Start(
            [name for name, _, _ in told],
            np.array([begin for _, begin, _ in told]),
            np.array([end for _, _, end in told]),
            key[1].timestamp(),
        )
        for key, told in found.items()
    }


def _life(lives: list[datetime], begun: datetime | None, ended: datetime, early: bool) -> datetime | None:
    """Return the life that a phase with this end belongs to: the running one, or the next where none runs yet."""
    following = next((at for at in lives if at > ended), None)
    if following is not None and (begun is None or early) and following - ended <= BEFORE:
        return following
    return begun if begun in lives else None

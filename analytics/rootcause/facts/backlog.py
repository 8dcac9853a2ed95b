"""Whether a queue keeps growing with what arrives or stands after it came: backlog against demand; never its cause."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.rootcause.form import ramp
from analytics.rootcause.leaves import FloatArray
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift

#: A queue has come once it reaches this share of its highest, and is there while above the second.
COME, THERE = 0.8, 0.2
#: Fewer than this many waiting at the highest is no backlog.
SMALLEST = 3.0


@dataclass(frozen=True, slots=True)
class Backlog:
    """`stood` = share of the waiting time after the queue had come; arrivals per second before and while it stood."""

    stood: float
    arrivals: Shift
    coming: float

    @property
    def unforced(self) -> float:
        """Say how far present demand does not excuse the queue: it stands, and no more arrives than used to, 0..1."""
        ratio, rise = self.arrivals.ratio, self.coming - self.arrivals.before
        over = min(
            ramp(self.coming - self.arrivals.during, 0.7 * rise, 0.9 * rise) or 0.0, ramp(ratio, 2.5, 1.5) or 0.0
        )
        calm = max(ramp(ratio, 1.6, 1.2) or 0.0, over if rise > 0 else 0.0)
        return calm * (ramp(self.stood, 0.4, 0.7) or 0.0)


def backlog_of(scene: Scene) -> Backlog | None:
    """Return the backlog over all instances; None where no queue worth the name was sampled or nobody tells arrivals.

    `coming` is the mean rate of arrivals while the queue was coming, per second.
    """
    whole, arrived = scene.arrivals, arrived_by_step(scene)
    depth = _added(scene.engine.values["queue_depth"])[scene.engine.during]
    if whole is None or arrived is None or not np.isfinite(depth).any() or np.nanmax(depth) < SMALLEST:
        return None
    peak = float(np.nanmax(depth))
    come = int(np.argmax(np.nan_to_num(depth) >= COME * peak))
    there = np.flatnonzero(np.nan_to_num(depth) >= THERE * peak)
    standing = there[there > come]
    if not len(standing) or not np.isfinite(arrived[standing]).any():
        return None
    return Backlog(
        len(standing) / len(there),
        Shift("requests_per_second", whole.before, float(np.nanmean(arrived[standing]))),
        float(np.nanmean(arrived[: come + 1])) if np.isfinite(arrived[: come + 1]).any() else 0.0,
    )


def arrived_by_step(scene: Scene) -> FloatArray | None:
    """Return arrivals per second in each step during; None where neither requests nor pages tell them.

    Requests are recorded at their end, so those that still wait are counted by pages: first tokens and the growth of
    the queues.
    """
    panel, seconds = scene.engine, scene.observations.step_seconds
    recorded = scene.observations.arrivals_during
    first, depth = _added(panel.values["first_tokens"])[panel.during], panel.values["queue_last"][:, panel.during]
    # The step before the first need not be the one that history ends with, so what queued up in the first is unknown.
    paged = np.maximum(first + np.nansum(np.diff(depth, axis=1, prepend=np.nan), axis=0), 0.0)
    # Pages rarer than steps count several steps in one: the mean is right all the same.
    paged *= np.isfinite(paged).mean()
    both = paged if recorded is None else np.fmax(recorded, paged) if len(paged) == len(recorded) else recorded
    return both / seconds if np.isfinite(both).any() else None


def _added(block: FloatArray) -> FloatArray:
    known = np.isfinite(block).any(axis=0)
    added: FloatArray = np.where(known, np.nansum(block, axis=0), np.nan)
    return added

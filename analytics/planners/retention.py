"""Hit ratio of a cache by capacity, from how soon entries are asked for again; LRU and by value; never stores a block.

An entry is kept until `age` without being asked for. In steady state Little's law gives the room this takes:
accesses/s x the mean of min(reuse interval, age), and the hit ratio is the share of intervals below it (the
characteristic-time approximation: Che, Tung, Wang, "Hierarchical Web Caching Systems", 2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from analytics.planners.distribution import Distribution

__all__ = ["Retention", "ReuseClass", "ReuseCurves", "by_value", "least_recently_used", "reuse_curves"]

Floats = npt.NDArray[np.float64]
#: Ages considered, from a second to 30 days.
AGES: Floats = np.concatenate([[0.0], np.geomspace(0.1, 30 * 86_400, 200)])


@dataclass(frozen=True, slots=True)
class ReuseClass:
    """A kind of access: its share of all accesses, how likely it is asked for again, and after how long.

    `saving_seconds` is what a hit saves; `size` is the room of one entry, in any unit that capacities use too.
    """

    name: str
    share: float
    return_ratio: float
    return_seconds: Distribution
    saving_seconds: float = 1.0
    size: float = 1.0


@dataclass(frozen=True, slots=True)
class Retention:
    """What a capacity brings: hits as a share of accesses, and the age to which each class is kept, in seconds."""

    hit_ratio: float
    saved_seconds_per_access: float
    age_seconds: dict[str, float]


@dataclass(frozen=True, slots=True)
class ReuseCurves:
    """Room, hit share and saved seconds of each class (row) by the age (AGES) it is kept to."""

    names: tuple[str, ...]
    room: Floats
    hits: Floats
    saved: Floats


def reuse_curves(classes: Sequence[ReuseClass], accesses_per_second: float) -> ReuseCurves:
    """Return what keeping each class to each age takes and brings."""
    room, hits, saved = [], [], []
    shares = sum(each.share for each in classes) or 1.0
    for each in classes:
        share = each.share / shares
        returned = each.return_ratio * each.return_seconds.share_below(AGES)
        returned[0] = 0.0
        survival = 1 - returned
        lived = np.concatenate([[0.0], np.cumsum((survival[1:] + survival[:-1]) / 2 * np.diff(AGES))])
        room.append(accesses_per_second * share * lived * each.size)
        hits.append(share * returned)
        saved.append(share * returned * each.saving_seconds)
    return ReuseCurves(tuple(each.name for each in classes), np.array(room), np.array(hits), np.array(saved))


def least_recently_used(curves: ReuseCurves, capacity: float) -> Retention:
    """Return the hit ratio of LRU: one age for all classes."""
    age = float(np.interp(capacity, curves.room.sum(axis=0), AGES))
    hit = float(np.interp(age, AGES, curves.hits.sum(axis=0)))
    gain = float(np.interp(age, AGES, curves.saved.sum(axis=0)))
    return Retention(hit, gain, dict.fromkeys(curves.names, age))


def by_value(curves: ReuseCurves, capacity: float) -> Retention:
    """Return the hit ratio when each class keeps entries as long as saving x reuse probability per room is worth it.

    The best split of the capacity: steps of each class's upper concave hull, steepest first.
    """
    steps = []
    for index in range(len(curves.names)):
        room, saved = curves.room[index].tolist(), curves.saved[index].tolist()
        for start, end in pairwise(_concave_hull(room, saved)):
            width = room[end] - room[start]
            steps.append(((saved[end] - saved[start]) / max(width, 1e-300), index, start, end, width))
    left = capacity
    ages = [0.0] * len(curves.names)
    hit = gain = 0.0
    for slope, index, start, end, width in sorted(steps, key=lambda step: (-step[0], step[2])):
        part = 1.0 if width <= left else max(0.0, left) / max(width, 1e-300)
        if slope <= 0 or part <= 0:
            break
        left -= width * part
        ages[index] = float(AGES[start] + (AGES[end] - AGES[start]) * part)
        hit += float(curves.hits[index][end] - curves.hits[index][start]) * part
        gain += float(curves.saved[index][end] - curves.saved[index][start]) * part
    return Retention(hit, gain, dict(zip(curves.names, ages, strict=True)))


def _concave_hull(x: Sequence[float], y: Sequence[float]) -> list[int]:
    """Return indices of the upper concave hull of points sorted by x."""
    hull: list[int] = []
    for index in range(len(x)):
        while len(hull) > 1:
            first, second = hull[-2], hull[-1]
            cross = (x[second] - x[first]) * (y[index] - y[first]) - (y[second] - y[first]) * (x[index] - x[first])
            if cross < 0:
                break
            hull.pop()
        hull.append(index)
    return hull

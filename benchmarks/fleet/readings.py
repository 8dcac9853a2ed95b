"""Compares the recommender with the best baseline at equal good ratio, in two readings; runs nothing.

**Tuned**: each baseline runs at the target that was cheapest at 99 % on days 1-7 (where none reached 99 %, the one that
came nearest), as whoever tunes it must. On days 8-14 it counts as it ran where it and ours both keep 99 %. Where one of
the two falls short, it counts with what its own grid needs on days 8-14 for our good ratio: moved up where the baseline
fell short (few GPU-hours at a missed objective are no saving), moved down where ours did (a missed objective buys us
nothing). A baseline that reaches our good ratio at no target does not count.

**In hindsight**: every baseline is moved to our good ratio on days 8-14, whatever it was tuned to. That is harsher than
anybody could do: target and baseline are chosen by the very days that are reported.

Our good ratio counts up to 99 % in both. Between two targets of a grid the frontier is interpolated.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from benchmarks.fleet.contest import TARGET, Contest, Point


def in_hindsight(done: Contest, moving: bool = False) -> tuple[float, Point]:
    """Return GPU-hours and point of the baseline that is cheapest on days 8-14 at our good ratio.

    `moving` leaves out fleets that never change (they cannot flap).
    """
    aim = min(done.ours.reported.good_ratio, TARGET)
    found = [along(line, aim) for line in _lines(done, moving)]
    return min(found, key=lambda pair: pair[0])


def as_tuned(done: Contest, moving: bool = False) -> tuple[float, Point]:
    """Return GPU-hours and point of the cheapest baseline of those that were tuned on days 1-7."""
    ours = done.ours.reported.good_ratio
    found = []
    for line in _lines(done, moving):
        point = tuned(line)
        if min(point.reported.good_ratio, ours) >= TARGET:
            found.append((point.reported.gpu_hours, point))
        else:
            found.append((along(line, min(ours, TARGET))[0], point))
    return min(found, key=lambda pair: pair[0])


def tuned(line: Sequence[Point]) -> Point:
    """Return the point that days 1-7 choose: the cheapest at 99 %, else the one with the best good ratio."""
    kept = [point for point in line if point.tuning.good_ratio >= TARGET]
    if kept:
        return min(kept, key=lambda point: point.tuning.gpu_hours)
    return max(line, key=lambda point: point.tuning.good_ratio)


def all_tuned(done: Contest) -> list[Point]:
    """Return each baseline at its tuned target."""
    return [tuned(line) for line in _lines(done, moving=False)]


def along(line: Sequence[Point], aim: float) -> tuple[float, Point]:
    """Return the least GPU-hours of one baseline's grid at good ratio `aim` on days 8-14, and the point above it.

    Infinite where no target reaches it.
    """
    best, by = inf, line[0]
    line = sorted(line, key=lambda point: point.reported.good_ratio)
    for low, high in zip([None, *line[:-1]], line, strict=True):
        if high.reported.good_ratio < aim:
            continue
        hours = high.reported.gpu_hours
        if low is not None and low.reported.good_ratio < aim:
            span = high.reported.good_ratio - low.reported.good_ratio
            share = (aim - low.reported.good_ratio) / span
            hours = min(hours, low.reported.gpu_hours + share * (hours - low.reported.gpu_hours))
        if hours < best:
            best, by = hours, high
    return best, by


def _lines(done: Contest, moving: bool) -> list[list[Point]]:
    points = [point for point in done.points if point.reported.scale_events > 0 or not moving]
    names = dict.fromkeys(point.policy for point in points)
    return [[point for point in points if point.policy == name] for name in names]

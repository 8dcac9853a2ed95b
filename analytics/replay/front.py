"""Says which policies no other one beats in both cost and quality; ranks none of those."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from analytics.replay.outcome import Outcome

__all__ = ["pareto_front"]


def pareto_front(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes that none of the others undercuts in GPU-hours at the same or a better good ratio.

    Cheapest first, so good ratios rise along it. Outcomes without a figure are on no front; of equal ones the first is.
    """
    known = [one for one in outcomes if isfinite(one.good_ratio) and isfinite(one.gpu_hours)]
    front: list[Outcome] = []
    for one in sorted(known, key=lambda one: (one.gpu_hours, -one.good_ratio)):
        if not front or one.good_ratio > front[-1].good_ratio:
            front.append(one)
    return front

"""Grades a past decision by what came after it; learns nothing and blames nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, isfinite
from typing import Literal

Verdict = Literal["right", "short", "excess", "unknown"]

#: More than this share above what was needed is excess (and more than one instance).
EXCESS_RATIO = 0.35


@dataclass(frozen=True, slots=True)
class Grade:
    """The verdict, what would have been enough, and why."""

    verdict: Verdict
    enough: float
    because: str


def grade(
    document: Mapping[str, object], highest_demand: float, good_ratio: float, target: float = 0.99, unit: int = 1
) -> Grade:
    """Grade a stored decision by the highest demand (req/s) and the good ratio at and just after its horizon.

    NaN stands for "not seen". A decision is short where the objective was missed with fewer instances than enough; one
    that kept the objective with a third more than enough is excess.
    """
    capacity = document.get("capacity_per_instance")
    rate = capacity.get("value") if isinstance(capacity, Mapping) else None
    proposed = document.get("proposed")
    known = isinstance(rate, int | float) and rate > 0 and isinstance(proposed, int) and isfinite(highest_demand)
    if not known or document.get("action") == "hold_blind":
        return Grade("unknown", float("nan"), "nothing was seen then or afterwards")
    assert isinstance(rate, int | float)
    assert isinstance(proposed, int)
    enough = highest_demand / rate
    missed = isfinite(good_ratio) and good_ratio < target
    if missed and proposed < enough:
        return Grade("short", enough, f"{good_ratio:.2%} were good and {enough:.1f} instances would have been enough")
    if not missed and proposed - ceil(enough) > max(EXCESS_RATIO * enough, unit):
        return Grade("excess", enough, f"{enough:.1f} instances would have been enough")
    return Grade("right", enough, f"{enough:.1f} instances were enough")

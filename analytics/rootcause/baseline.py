"""Chooses what a window is compared with: the calm last hour, the same time yesterday and last week; never the future,
unless nothing else was recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analytics.rootcause.leaves import IntArray
from analytics.rootcause.timeline import SMALLEST_BASELINE, Timeline, calm_steps, threshold_of

HOUR_SECONDS = 3600
DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Baseline:
    """The steps before and during, the threshold of bad, and which history served: `hour`, `day`, `week` or `rest`."""

    before: IntArray
    during: IntArray
    threshold: float
    parts: tuple[str, ...]
    usual_rate: float | None


def baseline_for(timeline: Timeline, start: int, end: int, threshold: float | None = None) -> Baseline | None:
    """Choose the baseline of the steps [start, end); None where there is nothing to compare with."""
    steps = timeline.steps
    during = (steps >= start) & (steps < end)
    parts = _parts(timeline, steps, start, end)
    total = timeline.total
    rows = np.zeros(len(steps), dtype=bool)
    for part in parts.values():
        rows |= part
    rows &= ~during
    used = tuple(name for name, part in parts.items() if total[part].sum() > 0)
    if total[rows].sum() < SMALLEST_BASELINE:
        rows, used = ~during, ("rest",)
        if total[rows].sum() < SMALLEST_BASELINE:
            return None
    limit = threshold if threshold is not None else threshold_of(timeline, rows)
    if limit is None:
        return None
    return Baseline(
        calm_steps(timeline, rows, limit),
        np.arange(start, end),
        limit,
        used,
        _usual(timeline, parts, total),
    )


def _parts(timeline: Timeline, steps: IntArray, start: int, end: int) -> dict[str, npt.NDArray[np.bool_]]:
    step = timeline.step_seconds
    hour, day = HOUR_SECONDS // step, DAY_SECONDS // step
    return {
        "hour": (steps >= start - hour) & (steps < start),
        "day": (steps >= start - day) & (steps < end - day),
        "week": (steps >= start - 7 * day) & (steps < end - 7 * day),
    }


def _usual(timeline: Timeline, parts: dict[str, npt.NDArray[np.bool_]], total: npt.NDArray[np.float64]) -> float | None:
    """Return events per second at this time on earlier days, None where none was recorded."""
    found = [
        float(total[part].mean()) / timeline.step_seconds
        for name, part in parts.items()
        if name != "hour" and total[part].sum() > 0
    ]
    return max(found) if found else None

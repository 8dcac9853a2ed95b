"""On what a forecast stands, in words, and how sure it is, in a number; the ladder from minutes to weeks of history."""

from __future__ import annotations

import numpy as np

from analytics.forecast.history import History
from analytics.forecast.level_shift import LevelShift
from analytics.forecast.scores import Scores

#: Days of known values from which on everything that is used has been seen at least twice.
FULL_DAYS = 14.0
#: (days of known values below which it holds, what the forecast stands on); the last rung says nothing.
LADDER: tuple[tuple[float, str], ...] = (
    (1 / 24, "last value, less than an hour of history"),
    (1.0, "recent level, less than a day of history"),
    (2.0, "recent level and yesterday, less than two days of history"),
    (8.0, "daily pattern without a weekly one, {days:.1f} days of history"),
    (FULL_DAYS, "daily and first weekly pattern, {days:.1f} days of history"),
    (float("inf"), "daily and weekly pattern, {days:.1f} days of history"),
)


def basis_of(name: str, history: History, shift: LevelShift | None = None) -> str:
    """Return a sentence on what the forecast of `name` stands on."""
    days = known_days(history)
    if days == 0:
        return "no data"
    rung = next(text for limit, text in LADDER if days < limit)
    said = f"{name}: {rung.format(days=days)}"
    if shift is None:
        return said
    hours = (len(history) - shift.start) * history.step_seconds / 3600
    return f"{said}; level moved x{shift.factor:.2g} {hours:.1f} h ago"


def confidence_of(history: History, scores: Scores, shift: LevelShift | None = None) -> float:
    """Return 0..1: share of a fortnight seen x share of it known x how well the .9 band held; less after a shift.

    A series without scores has the first two alone, halved.
    """
    days = known_days(history)
    if days == 0:
        return 0.0
    recent = history.values[-int(FULL_DAYS) * history.day :]
    seen = min(1.0, days / FULL_DAYS) ** 0.5 * float(np.isfinite(recent).mean())
    held = scores.coverage.get("q90")
    seen *= 0.5 if held is None else 1 - min(1.0, abs(held - 0.9) / 0.9)
    if shift is not None:
        seen *= 0.7
    return round(float(seen), 3)


def known_days(history: History) -> float:
    """Return the days' worth of steps that carry a value."""
    return float(np.isfinite(history.values).sum()) / history.day

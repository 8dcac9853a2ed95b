"""Did demand just move to another level and stay? Compares the newest hours with all that such hours did before.

A shift in force is undone in the past: what came before is multiplied to the new level, so that every member, weight
and band carries over. A spike or an outage that has ended is no shift; one that goes on looks like a shift while it
lasts, which is why a fall must hold longer than a rise before it is believed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.history import FloatArray, History
from analytics.forecast.profile import WEEK, from_root, roots_of
from analytics.forecast.windows import median_of, trailing_mean

#: How long a shift may have held, longest first, and by which factor it must then exceed what 99 of 100 windows of that
#: length did in the same direction before; long windows are few, so what they did is known less well.
HOLDS: tuple[tuple[int, float], ...] = ((86_400, 2.0), (21_600, 1.7), (7_200, 1.5), (3_600, 1.5), (1_800, 1.5))
#: A rise is believed from half an hour on, a fall from six hours on: an outage is no shift.
FALL_SECONDS = 21_600
#: A series whose two hours stray by more than this (a logarithm) one time in twenty has no level that could shift.
RESTLESS = 0.55
#: Least change that is worth the name, as a logarithm (x 1.4).
LEAST = 0.336
#: Days of history before shifts are told from ordinary days.
LEARN_DAYS = 3
#: Share of the mean added before taking logarithms, so that quiet hours do not look like shifts.
OFFSET = 0.1
#: Deviations count up to this much (x 2) in what was usual, so that an outage does not lower it for a day.
CLIP = 0.7
#: No shift is believed to be larger than x 5 (or smaller than a fifth).
LARGEST = 1.6


@dataclass(frozen=True, slots=True)
class LevelShift:
    """Demand has been `factor` times what it was before, from step `start` on."""

    start: int
    factor: float


def without_shift(history: History) -> tuple[History, LevelShift | None]:
    """Return the history with all that came before the shift moved to the level after it, and the shift in force."""
    shift = shift_in_force(history)
    if shift is None:
        return history, None
    values = history.values.copy()
    values[: shift.start] *= shift.factor
    return history.with_values(values), shift


def shift_in_force(history: History) -> LevelShift | None:
    """Return the level shift that goes on at the end of the history, or None."""
    size, day = len(history), history.day
    if size < LEARN_DAYS * day:
        return None
    strayed = _strayed(history)
    every = np.arange(1, size + 1, dtype=np.int64)
    clipped = np.clip(strayed, -CLIP, CLIP)
    if _restless(strayed, clipped, history):
        return None
    for seconds, beyond in HOLDS:
        hold = max(2, history.steps(seconds))
        usual = np.nan_to_num(trailing_mean(clipped, every - hold, day))
        moved = trailing_mean(strayed, every, hold) - usual
        newest = float(moved[-1])
        if not np.isfinite(newest) or (newest < 0 and seconds < FALL_SECONDS):
            continue
        before = np.sign(newest) * moved[day : size - hold]
        before = before[np.isfinite(before)]
        if len(before) < day or abs(newest) <= max(LEAST, beyond * float(np.quantile(before, 0.99))):
            continue
        held = strayed[size - hold :] - usual[-1]
        held = held[np.isfinite(held)]
        if (held * np.sign(newest) > abs(newest) / 3).mean() > 0.8:
            return _measured(strayed, float(usual[-1]), size - hold, newest)
    return None


def _restless(strayed: FloatArray, clipped: FloatArray, history: History) -> bool:
    """Return whether two hours (of all but the newest day) often lie far from what the day before was like."""
    hold = max(2, history.steps(7_200))
    ends = np.arange(history.day, len(history) - history.day, dtype=np.int64)
    moved = np.abs(trailing_mean(strayed, ends, hold) - np.nan_to_num(trailing_mean(clipped, ends - hold, history.day)))
    moved = moved[np.isfinite(moved)]
    return len(moved) == 0 or float(np.quantile(moved, 0.95)) > RESTLESS


def _measured(strayed: FloatArray, usual: float, begin: int, moved: float) -> LevelShift:
    """Return the shift with its start found by walking back from `begin`, and its size from all steps since."""
    start = begin
    while start > 0 and (strayed[start - 1] - usual) * np.sign(moved) > abs(moved) / 2:
        start -= 1
    while start < len(strayed) - 1 and not (strayed[start] - usual) * np.sign(moved) > abs(moved) / 2:
        start += 1
    size = float(np.nanmedian(strayed[start:])) - usual
    return LevelShift(start, float(np.exp(np.clip(size, -LARGEST, LARGEST))))


def _strayed(history: History) -> FloatArray:
    """Return log(demand / profile) of every step, NaN where either is missing."""
    known = history.values[np.isfinite(history.values)]
    small = OFFSET * float(known.mean()) if len(known) else 0.0
    if small <= 0:
        return np.full(len(history), np.nan)
    every = np.arange(len(history), dtype=np.int64)
    roots, now = roots_of(history), np.ones(1, dtype=np.int64)
    # The middle of the past week's days, because one day's outage or spike must not colour the profile.
    days = np.stack([roots.days_before(every, now, days) for days in WEEK.days])
    profile = from_root(median_of(days))
    strayed: FloatArray = np.log((history.values + small) / (profile + small))
    return strayed

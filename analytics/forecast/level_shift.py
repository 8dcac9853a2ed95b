"""Did demand move to another level and stay? Compares the last half hour with all that half hours did before.

A shift found is undone in the past: what came before is multiplied to the new level, so that every member, weight and
band carries over. A spike that ends is found as a second shift back, and so costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.history import FloatArray, History
from analytics.forecast.profile import WEEK, from_root, roots_of
from analytics.forecast.windows import trailing_mean

#: A shift must hold this long, and at least two steps.
HOLD_SECONDS = 1_800
#: Least change that is worth the name, as a logarithm (x 1.35).
LEAST = 0.3
#: It must exceed by this factor what 99 of 100 earlier half hours did.
BEYOND = 2.0
#: Days of history before shifts are told from ordinary days.
LEARN_DAYS = 2
#: Share of the mean added before taking logarithms, so that quiet hours do not look like shifts.
OFFSET = 0.1
#: More shifts than this in one history are restlessness, not shifts.
MOST = 4


@dataclass(frozen=True, slots=True)
class LevelShift:
    """Demand has been `factor` times what it was before, from step `start` on."""

    start: int
    factor: float


def without_shifts(history: History) -> tuple[History, tuple[LevelShift, ...]]:
    """Return the history with all that came before a shift moved to the level after it, and the shifts in order."""
    found: list[LevelShift] = []
    begin = LEARN_DAYS * history.day
    while len(found) < MOST:
        shift, begin = _first_shift(history, begin)
        if shift is None:
            break
        found.append(shift)
        values = history.values.copy()
        values[: shift.start] *= shift.factor
        history = history.with_values(values)
    return history, tuple(found)


def _first_shift(history: History, begin: int) -> tuple[LevelShift | None, int]:
    """Return the first shift whose half hour ends after `begin`, and where to go on looking."""
    size, day = len(history), history.day
    if size <= begin:
        return None, begin
    strayed = _strayed(history)
    hold = max(2, history.steps(HOLD_SECONDS))
    usual = trailing_mean(strayed, np.arange(size, dtype=np.int64) - hold + 1, day)
    held = _least_of_last(strayed - np.nan_to_num(usual), hold)
    for start_of_day in range(begin, size, day):
        before = np.abs(held[:start_of_day])
        before = before[np.isfinite(before)]
        if len(before) < day:
            continue
        bar = max(LEAST, BEYOND * float(np.quantile(before, 0.99)))
        today = held[start_of_day : start_of_day + day]
        over = np.flatnonzero(np.abs(np.nan_to_num(today)) > bar)
        if len(over):
            seen_at = start_of_day + int(over[0])
            return _measured(strayed, usual, seen_at, hold), seen_at + hold
    return None, size


def _strayed(history: History) -> FloatArray:
    """Return log(demand / profile) of every step, NaN where either is missing."""
    known = history.values[np.isfinite(history.values)]
    small = OFFSET * float(known.mean()) if len(known) else 0.0
    if small <= 0:
        return np.full(len(history), np.nan)
    every = np.arange(len(history), dtype=np.int64)
    profile = from_root(WEEK.at(roots_of(history), every, np.ones(1, dtype=np.int64)))
    strayed: FloatArray = np.log((history.values + small) / (profile + small))
    return strayed


def _least_of_last(values: FloatArray, hold: int) -> FloatArray:
    """Return, for each step, the smallest deviation of the last `hold` steps if all have one sign, else 0 or NaN."""
    if len(values) < hold:
        return np.full(len(values), np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(values, hold)
    low, high = windows.min(axis=1), windows.max(axis=1)
    least = np.where(low > 0, low, np.where(high < 0, high, 0.0 * low))
    return np.concatenate([np.full(hold - 1, np.nan), least])


def _measured(strayed: FloatArray, usual: FloatArray, seen_at: int, hold: int) -> LevelShift:
    """Return the shift noticed at `seen_at`: its size from all steps since it began, its start by walking back."""
    before = float(np.nan_to_num(usual[seen_at]))
    size = float(np.median(strayed[seen_at - hold + 1 : seen_at + 1])) - before
    start = seen_at - hold + 1
    while start > 0 and (strayed[start - 1] - before) * np.sign(size) > abs(size) / 2:
        start -= 1
    return LevelShift(start, float(np.exp(np.clip(size, -3.0, 3.0))))

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

#: How long a shift may have held (seconds), shortest first; which share of the windows of that length before it must be
#: smaller, in the same direction; and by which factor. Long windows are few, so what they did is known less well.
HOLDS: tuple[tuple[int, float, float], ...] = (
    (1_800, 0.99, 1.5), (3_600, 0.95, 1.5), (7_200, 0.95, 1.3), (21_600, 0.99, 1.7), (86_400, 0.99, 2.0),
)  # fmt: skip
#: A rise is believed from half an hour on, a fall from six hours on: an outage is no shift.
FALL_SECONDS = 21_600
#: The start of a shift is looked for this far back, or three windows.
REACH_SECONDS = 43_200
#: Least change that is worth the name, as a logarithm (x 1.4).
LEAST = 0.336
#: Days of history before shifts are told from ordinary days.
LEARN_DAYS = 3
#: Share of the mean added before taking logarithms, so that quiet hours do not look like shifts.
OFFSET = 0.1
#: Deviations count up to this much (x 2) in what was usual, so that an outage does not lower it for a day.
CLIP = 0.7
#: No shift is believed to be larger than x 3 (or smaller than a third).
LARGEST = 3.0
#: A series whose windows of two hours stray by more than this (a logarithm) one time in ten has no level to shift.
RESTLESS_SECONDS, RESTLESS_SHARE, RESTLESS = 7_200, 0.9, 0.5
#: Share of the steps since then that must lie beyond a third of the move.
HELD = 0.8


@dataclass(frozen=True, slots=True)
class LevelShift:
    """Demand has been `factor` times what it was before, from step `start` on."""

    start: int
    factor: float


def without_shift(history: History) -> tuple[History, LevelShift | None]:
    """Return the history with all that came before a shift moved to the level after it, and the newest shift in force.

    An older shift may stand behind the newest one: it is looked for, with longer windows, once the newest is undone.
    """
    newest = None
    if len(history) < LEARN_DAYS * history.day:
        return history, None
    beside = _beside(history)
    if _restless(*beside, history):
        return history, None
    for hold in HOLDS:
        found = _shift(*beside, history, *hold)
        if found is None:
            continue
        values = history.values.copy()
        values[: found.start] *= found.factor
        history = history.with_values(values)
        beside = _beside(history)
        newest = newest or found
    return history, newest


def shift_in_force(history: History) -> LevelShift | None:
    """Return the newest level shift that goes on at the end of the history, or None."""
    return without_shift(history)[1]


def _shift(
    came: FloatArray, typical: FloatArray, small: float, history: History, seconds: int, share: float, beyond: float
) -> LevelShift | None:
    """Return the shift that the last `seconds` show: beyond what such windows did before, and held throughout."""
    hold, day, size = max(2, history.steps(seconds)), history.day, len(history)
    moved, usual = _moved(came, typical, small, hold, day)
    newest = float(moved[-1])
    if not np.isfinite(newest) or (newest < 0 and seconds < FALL_SECONDS):
        return None
    before = np.sign(newest) * moved[day : size - hold]
    before = before[np.isfinite(before)]
    if len(before) < day or abs(newest) <= max(LEAST, beyond * float(np.quantile(before, share))):
        return None
    held = np.log((came + small) / (typical + small))[size - hold :] - usual[-1]
    held = held[np.isfinite(held)]
    if (held * np.sign(newest) > abs(newest) / 3).mean() <= HELD:
        return None
    return _measured(came, typical, small, hold, max(3 * hold, history.steps(REACH_SECONDS)), day)


def _restless(came: FloatArray, typical: FloatArray, small: float, history: History) -> bool:
    """Return whether windows (of all but the newest day) often lie far from what the day before was like."""
    if small <= 0:
        return True
    moved = _moved(came, typical, small, max(2, history.steps(RESTLESS_SECONDS)), history.day)[0]
    ordinary = np.abs(moved[history.day : -history.day])
    ordinary = ordinary[np.isfinite(ordinary)]
    return len(ordinary) == 0 or float(np.quantile(ordinary, RESTLESS_SHARE)) > RESTLESS


def _moved(came: FloatArray, typical: FloatArray, small: float, hold: int, day: int) -> tuple[FloatArray, FloatArray]:
    """Return, at every step, the logarithm of the last `hold` steps over what was usual, and what was usual.

    Usual is how the day before the window lay to the profile. Sums are over demand: busy hours say more than quiet
    ones.
    """
    ends = np.arange(1, len(came) + 1, dtype=np.int64)
    clipped = np.clip(np.log((came + small) / (typical + small)), -CLIP, CLIP) * (typical + small)
    usual = trailing_mean(clipped, ends - hold, day) / trailing_mean(typical + small, ends - hold, day)
    usual = np.nan_to_num(usual)
    expected = trailing_mean(typical, ends, hold) * np.exp(usual)
    moved: FloatArray = np.log((trailing_mean(came, ends, hold) + small) / (expected + small))
    return moved, usual


def _measured(
    came: FloatArray, typical: FloatArray, small: float, hold: int, reach: int, day: int
) -> LevelShift | None:
    """Return the shift: it began where two levels, one of the day before and one since, tell demand best.

    It is looked for between half a window and `reach` steps ago; its size is against the day before it.
    """
    size = len(came)
    weight = np.where(np.isfinite(came), typical + small, 0.0)
    strayed = np.where(weight > 0, np.log((came + small) / (typical + small)), 0.0)
    starts = np.arange(max(day, size - reach), max(day, size - max(1, hold // 2)) + 1, dtype=np.int64)
    masses = np.concatenate([[0.0], np.cumsum(weight)])
    moments = np.concatenate([[0.0], np.cumsum(weight * strayed)])
    opened = max(0, starts[0] - day)
    before = masses[starts] - masses[opened], moments[starts] - moments[opened]
    since = masses[-1] - masses[starts], moments[-1] - moments[starts]
    told = [np.divide(moment**2, mass, out=np.zeros(len(starts)), where=mass > 0) for mass, moment in (before, since)]
    start = int(starts[int(np.argmax(told[0] + told[1]))])
    known = np.isfinite(came)
    ratios = [
        float(came[part][known[part]].sum() + small) / float(typical[part][known[part]].sum() + small)
        for part in (slice(max(0, start - day), start), slice(start, size))
    ]
    factor = float(np.clip(ratios[1] / ratios[0], 1 / LARGEST, LARGEST))
    return LevelShift(start, factor) if abs(np.log(factor)) > LEAST else None


def _beside(history: History) -> tuple[FloatArray, FloatArray, float]:
    """Return demand and its profile where both are known (else NaN), and the small amount that calms quiet hours."""
    known = history.values[np.isfinite(history.values)]
    every = np.arange(len(history), dtype=np.int64)
    roots, now = roots_of(history), np.ones(1, dtype=np.int64)
    # The middle of the past week's days, because one day's outage or spike must not colour the profile.
    days = np.stack([roots.days_before(every, now, days) for days in WEEK.days])
    profile = from_root(median_of(days))
    both = np.isfinite(history.values) & np.isfinite(profile)
    small = OFFSET * float(known.mean()) if len(known) else 0.0
    return np.where(both, history.values, np.nan), np.where(both, profile, np.nan), small

"""Days that people declare: holidays, launches, closures, and what they do to a forecast; nothing is guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from analytics.forecast.history import DAY_SECONDS, FloatArray, History, IntArray
from signals.errors import ConfigError

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True)
class Event:
    """A local day that is not like others.

    `like` names the weekday that it resembles ("sunday" for a holiday), "unusual" for a day that must teach nothing,
    or None; `factor` multiplies the forecast of that day (1.5 for a launch).
    """

    day: date
    like: str | None = None
    factor: float = 1.0
    name: str = ""

    def __post_init__(self) -> None:
        if self.like is not None and self.like not in (*WEEKDAYS, "unusual"):
            raise ConfigError(f"like must be a weekday or 'unusual', got {self.like!r}", key="like")
        if not self.factor > 0:
            raise ConfigError(f"factor must be above 0, got {self.factor}", key="factor")


def without_events(history: History, events: Sequence[Event]) -> History:
    """Return the history with declared past days made ordinary: unlike days are missing, factors divided out."""
    if not events or len(history) == 0:
        return history
    values = history.values.copy()
    days = local_days(history, np.arange(len(history), dtype=np.int64))
    for event in events:
        here = days == _number(event.day)
        values[here] = np.nan if event.like is not None else values[here] / event.factor
    return history.with_values(values)


def apply_events(bands: FloatArray, history: History, events: Sequence[Event]) -> FloatArray:
    """Return quantile paths (steps, quantiles) after the end of `history` with declared days ahead put right.

    A day like another weekday is scaled, step by step, as that weekday relates to the day's own in the past weeks.
    """
    if not events or not np.isfinite(bands).any():
        return bands
    steps = np.arange(len(history), len(history) + len(bands), dtype=np.int64)
    days = local_days(history, steps)
    changed = bands.copy()
    for event in events:
        here = days == _number(event.day)
        if not here.any():
            continue
        if event.like in WEEKDAYS:
            changed[here] *= _resemblance(history, steps[here], WEEKDAYS.index(str(event.like)))[:, None]
        changed[here] *= event.factor
    return changed


def local_days(history: History, index: IntArray) -> IntArray:
    """Return the local day number (days since 1970-01-01) of each step."""
    start = int(history.start.astype("datetime64[s]").astype(np.int64)) // history.step_seconds
    shift = history.shift[np.clip(index, 0, len(history.shift) - 1)]
    days: IntArray = (index + start + shift) * history.step_seconds // DAY_SECONDS
    return days


def _number(day: date) -> int:
    return (day - date(1970, 1, 1)).days


def _resemblance(history: History, steps: IntArray, weekday: int) -> FloatArray:
    """Return demand of that weekday over demand of the steps' own weekday at the same local time, from the past."""
    number = int(local_days(history, steps[:1])[0])
    own = (number + 3) % 7  # 1970-01-01 was a Thursday
    ratio = np.ones(len(steps))
    like, usual = (_weekday_mean(history, steps, number, other) for other in (weekday, own))
    known = np.isfinite(like) & np.isfinite(usual) & (usual > 0)
    ratio[known] = np.clip(like[known] / usual[known], 0.05, 20.0)
    return ratio


def _weekday_mean(history: History, steps: IntArray, number: int, weekday: int) -> FloatArray:
    """Return the mean over the newest four such weekdays at the steps' local times, NaN where none is known."""
    back = (number + 3 - weekday) % 7
    found = []
    for week in range(0 if back else 1, 6):
        index = history.days_before(steps, np.full(steps.shape, back + 7 * week))
        found.append(history.at(index))
    stacked = np.stack(found)
    known = np.isfinite(stacked)
    newest = known & (known.cumsum(axis=0) <= 4)
    count = newest.sum(axis=0)
    total = np.where(newest, stacked, 0.0).sum(axis=0)
    mean: FloatArray = np.divide(total, count, out=np.full(len(steps), np.nan), where=count > 0)
    return mean

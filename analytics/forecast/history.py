"""One demand series on a regular grid of steps, with local time of day; never invents a value for a gap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

from signals.errors import ConfigError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TimeArray = npt.NDArray[np.datetime64]

DAY_SECONDS = 86_400
#: Longest history that a forecaster looks at; older demand says little about tomorrow and costs time.
MAX_DAYS = 70
#: Local offsets are known this far beyond the last value, so forecasts may reach that far.
MAX_AHEAD_DAYS = 15


@dataclass(frozen=True, slots=True)
class History:
    """`values[i]` is the mean rate over the step that starts at `start + i * step_seconds`; NaN is missing.

    `shift[i]` is the local clock's offset in steps, known `MAX_AHEAD_DAYS` beyond the last value, so that "the same
    time yesterday" means the same local time. An *origin* is the index of the first step that a forecast does not
    know; the step at *lead* h from origin o is o + h - 1.
    """

    start: np.datetime64
    step_seconds: int
    values: FloatArray
    shift: IntArray

    @property
    def day(self) -> int:
        """Steps per day."""
        return DAY_SECONDS // self.step_seconds

    def __len__(self) -> int:
        return len(self.values)

    def steps(self, seconds: float) -> int:
        """Return how many steps cover `seconds`, at least one."""
        return max(1, round(seconds / self.step_seconds))

    def at(self, index: IntArray) -> FloatArray:
        """Return the values at `index`, NaN outside the history; any shape."""
        size = len(self.values)
        if size == 0:
            return np.full(index.shape, np.nan)
        inside = (index >= 0) & (index < size)
        return np.where(inside, self.values[np.clip(index, 0, size - 1)], np.nan)

    def days_before(self, index: IntArray, days: IntArray | int) -> IntArray:
        """Return the index of the same local time `days` earlier."""
        plain = index - np.asarray(days) * self.day
        last = len(self.shift) - 1
        then = self.shift[np.clip(plain, 0, last)]
        local: IntArray = plain + self.shift[np.clip(index, 0, last)] - then
        return local

    def time(self, index: int) -> np.datetime64:
        """Return the start of step `index`."""
        return self.start + np.timedelta64(index * self.step_seconds, "s")

    def with_values(self, values: FloatArray) -> History:
        """Return the same grid with other values."""
        return replace(self, values=values)


def regular(
    times: TimeArray, values: FloatArray, step_seconds: int, timezone: str = "UTC", newest_days: int = MAX_DAYS
) -> History:
    """Lay (times, values) on a grid of `step_seconds`: values in one step are averaged, absent steps are NaN.

    `times` need not be sorted; the grid runs from the earliest to the latest of them, also where the value is NaN,
    and is cut to the newest days. Negative and infinite values count as missing.
    """
    step = checked_step(step_seconds)
    zone = checked_zone(timezone)
    stamps = np.asarray(times).astype("datetime64[s]").astype(np.int64)
    rates = np.asarray(values, dtype=np.float64)
    if len(stamps) != len(rates):
        raise ConfigError(f"times and values differ in length: {len(stamps)} and {len(rates)}")
    known = ~np.isnat(np.asarray(times))
    slots = stamps[known] // step
    rates = rates[known]
    if len(slots) == 0:
        return History(np.datetime64(0, "s"), step, np.empty(0), np.zeros(MAX_AHEAD_DAYS, dtype=np.int64))
    last = int(slots.max())
    first = max(int(slots.min()), last + 1 - newest_days * DAY_SECONDS // step)
    good = np.isfinite(rates) & (rates >= 0) & (slots >= first)
    size = last - first + 1
    sums = np.bincount(slots[good] - first, weights=rates[good], minlength=size)
    counts = np.bincount(slots[good] - first, minlength=size)
    dense = np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0)
    start = np.datetime64(first * step, "s")
    return History(start, step, dense, _offsets(first * step, size, step, zone))


def checked_step(step_seconds: int) -> int:
    """Return `step_seconds`, or raise ConfigError where it does not divide a day."""
    if step_seconds <= 0 or DAY_SECONDS % int(step_seconds):
        raise ConfigError(f"step_seconds must divide a day of {DAY_SECONDS} s, got {step_seconds}", key="step_seconds")
    return int(step_seconds)


def checked_zone(timezone: str) -> ZoneInfo:
    """Return the zone, or raise ConfigError for a name that the time zone database does not know."""
    try:
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigError(
            f"unknown timezone {timezone!r}, expected a name like Europe/Berlin", key="timezone"
        ) from error


def _offsets(first_second: int, size: int, step: int, zone: ZoneInfo) -> IntArray:
    """Return the local offset in steps for `size` steps and the days ahead, from one reading an hour."""
    steps = size + MAX_AHEAD_DAYS * DAY_SECONDS // step
    hours = np.arange(0, steps * step + 3600, 3600)
    if zone.key == "UTC":
        return np.zeros(steps, dtype=np.int64)
    base = datetime.fromtimestamp(first_second, UTC)
    readings = np.array(
        [
            (zone.utcoffset(_local(base + timedelta(seconds=int(hour)), zone)) or timedelta()).total_seconds()
            for hour in hours
        ]
    )
    offsets = readings[np.arange(steps) * step // 3600]
    return np.round(offsets / step).astype(np.int64)


def _local(moment: datetime, zone: ZoneInfo) -> datetime:
    return moment.astimezone(zone)

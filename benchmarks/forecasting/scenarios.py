"""What life does to a series before an origin: a level shift, a gap; returns changed copies, never the original."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.forecasting.series import Series

#: A daily pattern that a level can be told from: correlation of demand with the same time yesterday.
DIURNAL = 0.8


def is_diurnal(series: Series) -> bool:
    """Return whether the series repeats from day to day."""
    today, yesterday = series.values[series.day :], series.values[: -series.day]
    known = np.isfinite(today) & np.isfinite(yesterday)
    return bool(np.corrcoef(today[known], yesterday[known])[0, 1] >= DIURNAL)


def doubled(series: Series, origin: int, hours_before: float = 2.0) -> Series:
    """Return the series with everything from `hours_before` the origin on doubled, the future included."""
    values = series.values.copy()
    values[origin - round(hours_before * 3600 / series.step_seconds) :] *= 2
    return replace(series, values=values)


def with_gap(series: Series, origin: int, hours: float = 12.0, hours_before: float = 3.0) -> Series:
    """Return the series with `hours` missing that end `hours_before` the origin."""
    values = series.values.copy()
    end = origin - round(hours_before * 3600 / series.step_seconds)
    values[end - round(hours * 3600 / series.step_seconds) : end] = np.nan
    return replace(series, values=values)

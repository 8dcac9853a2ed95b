"""Adds the day's curve to a pool's demand where days of history exist; leaves short histories as they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from analytics import forecast
from analytics.scaling import PoolState, with_curve
from collector.answers.scale_roster import Roster
from collector.store.reader import Reader
from signals.errors import NotEnoughDataError

#: A daily curve shows itself after two days; two weeks carry the weekly one.
NEEDED = timedelta(days=2)
REACH = timedelta(days=14)
STEP_SECONDS = 600


def with_day_curve(reader: Reader, state: PoolState, now: datetime, seen_since: datetime, timezone: str) -> PoolState:
    """Return the state with a forecast of the day in its demand, or unchanged where history is too short."""
    if now - seen_since < NEEDED or not np.isfinite(state.demand.now):
        return state
    since = max(seen_since, now - REACH)
    series = reader.columns("scale_demand", since=since, now=now, step_seconds=float(STEP_SECONDS))
    rows = Roster([state.pool]).rows(series).get(0)
    if rows is None:
        return state
    first = np.datetime64(since.replace(tzinfo=None), "us")
    origin = series["step"][rows].min() if len(rows) else first
    count = int((np.datetime64(now.replace(tzinfo=None), "us") - origin) / np.timedelta64(STEP_SECONDS, "s"))
    times = origin + np.arange(count) * np.timedelta64(STEP_SECONDS, "s")
    values = np.full(count, np.nan)
    places = ((series["step"][rows] - origin) / np.timedelta64(STEP_SECONDS, "s")).astype(np.int64)
    fine = places < count
    values[places[fine]] = np.asarray(series["rate"][rows], dtype=np.float64)[fine]
    stay = max(state.settings.calm_seconds, 2 * state.cold_start.p95)
    steps = max(2, int(np.ceil(max(stay, state.cold_start.p95) / STEP_SECONDS)) + 1)
    try:
        fitted = forecast.default(step_seconds=STEP_SECONDS, timezone=timezone).fit(times, values)
        path = fitted.predict(steps, quantiles=(0.5, 0.9, 0.99))
    except NotEnoughDataError:
        return state
    return replace(state, demand=with_curve(state.demand, path, STEP_SECONDS, state.cold_start.p95, stay))

"""Adds the day's curve to a pool's demand where days of history exist; leaves short histories as they are."""

from __future__ import annotations

from collections.abc import Sequence
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


def with_day_curve(
    reader: Reader,
    state: PoolState,
    now: datetime,
    seen_since: datetime,
    timezone: str,
    calendar: Sequence[forecast.Event] = (),
    curves: forecast.Keeper | None = None,
) -> PoolState:
    """Return the state with a forecast of the day in its demand, or unchanged where history is too short.

    `curves` keeps what was learnt from one call to the next; it has its own timezone and calendar.
    """
    if now - seen_since < NEEDED or not np.isfinite(state.demand.now):
        return state
    since = max(seen_since, now - REACH)
    series = reader.columns("scale_demand", since=since, now=now, step_seconds=float(STEP_SECONDS))
    rows = Roster([state.pool]).rows(series).get(0)
    if rows is None:
        return state
    stamps = series["step"].astype("datetime64[us]").astype(np.int64)[rows]
    step = STEP_SECONDS * 1_000_000
    origin = int(stamps.min()) if len(rows) else round(since.timestamp() * 1e6)
    count = (round(now.timestamp() * 1e6) - origin) // step
    times = (origin + np.arange(count) * step).astype("datetime64[us]")
    values = np.full(count, np.nan)
    places = (stamps - origin) // step
    fine = places < count
    values[places[fine]] = np.asarray(series["rate"][rows], dtype=np.float64)[fine]
    stay = max(state.settings.calm_seconds, 2 * state.cold_start.p95)
    steps = max(2, int(np.ceil(max(stay, state.cold_start.p95) / STEP_SECONDS)) + 1)
    try:
        if curves is None:
            fitted = forecast.default(STEP_SECONDS, timezone, calendar).fit(times, values)
        else:
            fitted = curves.forecaster(state.pool.name, now, times, values)
        path = fitted.predict(steps, quantiles=(0.5, 0.9, 0.99))
    except NotEnoughDataError:
        return state
    return replace(state, demand=with_curve(state.demand, path, STEP_SECONDS, state.cold_start.p95, stay))

"""Forecasters are learnt once an hour and refreshed in between."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from analytics.forecast import Forecaster, get
from analytics.forecast.keeper import Keeper
from tests.unit.analytics.forecast.support import DAY, STEP, wave

NOW = datetime(2026, 3, 11, tzinfo=UTC)


def test_a_series_is_refreshed_within_the_hour_and_learnt_anew_after_it() -> None:
    made: list[Forecaster] = []

    def make() -> Forecaster:
        made.append(get("naive_day", STEP))
        return made[-1]

    keeper = Keeper(make)
    times, values = wave(9)
    first = keeper.forecaster("m", NOW, times[:-2], values[:-2])
    assert keeper.forecaster("m", NOW + timedelta(minutes=30), times[:-1], values[:-1]) is first
    assert first.predict(DAY, (0.5,))[0, 0] == values[-1 - DAY]
    assert keeper.forecaster("m", NOW + timedelta(hours=1), times, values) is not first
    assert len(made) == 2


def test_what_nobody_asks_for_is_forgotten() -> None:
    keeper = Keeper(lambda: get("naive_day", STEP))
    keeper.forecaster("old", NOW, *wave(2))
    keeper.forecaster("new", NOW + timedelta(days=2), *wave(2))
    assert len(keeper) == 1

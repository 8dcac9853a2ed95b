"""What every forecaster of the registry must do, whatever it knows."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest

from analytics.forecast import FORECASTERS, Forecaster, get
from analytics.forecast.history import FloatArray, TimeArray

STEP = 3600
DAY = 86_400 // STEP


def series(days: float, seed: int = 0) -> tuple[TimeArray, FloatArray]:
    count = max(1, round(days * DAY))
    times = np.datetime64("2026-03-02T00:00:00", "s") + np.arange(count) * np.timedelta64(STEP, "s")
    clock = np.arange(count) * 2 * np.pi / DAY
    noise = np.random.default_rng(seed).normal(0, 0.5, count)
    return times, np.maximum(0.0, 10 - 6 * np.cos(clock) + noise)


@cache
def fitted(name: str, days: float) -> Forecaster:
    """Return the forecaster fitted to the series, once for all tests that only ask it."""
    return get(name, STEP).fit(*series(days))


@pytest.fixture(params=sorted(FORECASTERS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_quantiles_are_ordered_finite_and_never_negative(name: str) -> None:
    found = fitted(name, 9).predict(2 * DAY)
    assert found.shape == (2 * DAY, 4)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert (np.diff(found, axis=1) >= 0).all()


@pytest.mark.parametrize("days", [1 / 24, 0.3, 1.1, 2.5, 6])
def test_short_history_gives_an_answer_with_its_basis_and_less_confidence(name: str, days: float) -> None:
    short = get(name, STEP).fit(*series(days))
    found = short.predict(DAY)
    assert np.isfinite(found).all()
    assert short.basis
    assert 0 <= short.confidence <= 1
    assert short.confidence < fitted(name, 20).confidence


def test_no_history_is_an_answer_of_unknowns(name: str) -> None:
    empty = get(name, STEP).fit(np.empty(0, dtype="datetime64[s]"), np.empty(0))
    assert np.isnan(empty.predict(3)).all()
    assert empty.basis == "no data"
    assert empty.confidence == 0


def test_nothing_but_gaps_is_an_answer_of_unknowns(name: str) -> None:
    times, values = series(3)
    blind = get(name, STEP).fit(times, np.full(len(values), np.nan))
    assert np.isnan(blind.predict(3)).all()
    assert blind.basis == "no data"


def test_all_zero_demand_is_forecast_as_zero(name: str) -> None:
    times, values = series(9)
    found = get(name, STEP).fit(times, np.zeros(len(values))).predict(DAY)
    assert (found == 0).all()


def test_constant_demand_is_forecast_as_that_constant(name: str) -> None:
    times, values = series(9)
    found = get(name, STEP).fit(times, np.full(len(values), 3.0)).predict(DAY, (0.5,))
    assert found == pytest.approx(3.0, rel=0.02)


def test_a_gap_is_not_a_fall_in_demand(name: str) -> None:
    times, values = series(9)
    gap = values.copy()
    gap[-DAY : -DAY // 2] = np.nan
    whole = fitted(name, 9).predict(DAY, (0.5,))
    holed = get(name, STEP).fit(times, gap).predict(DAY, (0.5,))
    assert np.abs(holed - whole).mean() < 0.25 * whole.mean()


def test_a_gap_up_to_now_does_not_blind_the_forecast(name: str) -> None:
    times, values = series(9)
    values[-5:] = np.nan
    found = get(name, STEP).fit(times, values).predict(DAY)
    assert np.isfinite(found).all()


def test_the_same_data_give_the_same_forecast_and_fit_returns_the_forecaster(name: str) -> None:
    forecaster = get(name, STEP)
    assert forecaster.fit(*series(9)) is forecaster
    first = forecaster.predict(DAY)
    assert np.array_equal(first, get(name, STEP).fit(*series(9)).predict(DAY))
    assert np.array_equal(first, forecaster.predict(DAY))


def test_the_input_is_left_as_it_was(name: str) -> None:
    times, values = series(9)
    before = values.copy()
    get(name, STEP).fit(times, values).predict(DAY)
    assert np.array_equal(values, before)


def test_order_of_the_input_does_not_matter(name: str) -> None:
    times, values = series(5)
    order = np.random.default_rng(1).permutation(len(times))
    straight = get(name, STEP).fit(times, values).predict(DAY)
    assert np.array_equal(straight, get(name, STEP).fit(times[order], values[order]).predict(DAY))


def test_scaling_demand_scales_the_forecast(name: str) -> None:
    times, values = series(9)
    once = get(name, STEP).fit(times, values).predict(DAY)
    thousand = get(name, STEP).fit(times, 1000 * values).predict(DAY)
    assert thousand == pytest.approx(1000 * once, rel=0.02)


def test_refresh_follows_new_values_without_learning_anew(name: str) -> None:
    times, values = series(9)
    forecaster = get(name, STEP).fit(times[: -DAY // 4], values[: -DAY // 4])
    fresh = forecaster.refresh(times, values).predict(DAY, (0.5,))
    refit = get(name, STEP).fit(times, values).predict(DAY, (0.5,))
    assert np.abs(fresh - refit).mean() < 0.1 * refit.mean()


def test_a_fitted_forecaster_survives_pickling(name: str) -> None:
    forecaster = fitted(name, 9)
    again = pickle.loads(pickle.dumps(forecaster))
    assert np.array_equal(again.predict(DAY), forecaster.predict(DAY))


def test_a_week_ahead_is_forecast_too(name: str) -> None:
    found = fitted(name, 15).predict(7 * DAY)
    assert np.isfinite(found).all()

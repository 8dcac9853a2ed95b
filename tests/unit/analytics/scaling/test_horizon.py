"""Demand at the cold start, forecast from a series' own growth."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.scaling import Demand, demand, with_curve
from analytics.scaling.growth import lead_steps
from analytics.scaling.horizon import Outlook


def test_an_empty_series_is_unknown_demand() -> None:
    assert np.isnan(demand(np.full(20, np.nan), 60.0, 180.0).now)


def test_a_flat_series_stays_flat() -> None:
    found = demand(np.full(600, 50.0), 60.0, 180.0)
    assert found.now == pytest.approx(50.0)
    assert found.q99 == pytest.approx(50.0, abs=0.5)


def test_a_steady_climb_is_carried_on_over_the_lead() -> None:
    climb = 50 + 0.1 * np.arange(600.0)
    found = demand(climb, 60.0, 600.0)
    assert found.q50 == pytest.approx(climb[-1] + 1.0, rel=0.02)
    assert found.q50 > found.now


def test_a_short_series_assumes_the_stated_growth() -> None:
    found = demand(np.full(5, 50.0), 60.0, 300.0)
    assert found.q90 >= 65.0
    assert "assumed" in found.basis


def test_what_grew_in_bursts_has_a_higher_tail_than_what_did_not() -> None:
    quiet = np.full(1440, 50.0)
    bursty = quiet.copy()
    for start in range(100, 1440, 120):
        bursty[start : start + 8] = 120.0
    assert demand(bursty, 60.0, 180.0).q99 > 1.5 * demand(quiet, 60.0, 180.0).q99


def test_gaps_are_missing_not_zero() -> None:
    values = np.full(600, 50.0)
    values[300:330] = np.nan
    assert demand(values, 60.0, 180.0).q50 == pytest.approx(50.0, abs=0.5)


def test_step_by_step_and_at_once_agree() -> None:
    generator = np.random.default_rng(5)
    values = 100 + 20 * np.sin(np.arange(900) / 60) + generator.normal(0, 2, 900)
    whole = demand(values, 60.0, 180.0, 360.0)
    outlook = Outlook(180.0, 360.0)
    for place, value in enumerate(values):
        outlook.add(60.0 * place, float(value))
    stepwise = outlook.demand()
    assert stepwise.now == pytest.approx(whole.now, rel=0.02)
    assert stepwise.q90 == pytest.approx(whole.q90, rel=0.05)


def test_the_curve_of_the_day_lifts_what_it_knows_better() -> None:
    found = Demand(50.0, 50.0, 60.0, 70.0, 80.0, 50.0, basis="level")
    path = np.array([[55.0, 58.0, 60.0], [90.0, 99.0, 110.0]])
    soon = with_curve(found, path, 600.0, 180.0, 1200.0)
    assert (soon.q50, soon.q90, soon.stay) == (55.0, 60.0, 90.0)
    assert "curve of the day" in soon.basis


def test_the_spread_follows_the_misses_of_the_last_minutes() -> None:
    generator = np.random.default_rng(3)
    noise = np.where((np.arange(3000) // 100) % 2 == 0, 1.0, 10.0) * generator.normal(0, 1, 3000)
    wild, calm = demand(200 + noise, 60.0, 60.0), demand(200 + noise[:-100], 60.0, 60.0)
    assert wild.q99 - wild.q50 > 1.5 * (calm.q99 - calm.q50)


def test_the_highest_level_of_three_hours_is_remembered_and_no_longer() -> None:
    values = np.full(600, 10.0)
    values[300:400] = 80.0
    assert demand(values[:500], 60.0, 180.0).high == pytest.approx(80.0, rel=0.01)
    assert demand(values, 60.0, 180.0).high < 20.0


def test_step_by_step_the_highest_level_is_the_same() -> None:
    values = 50 + 30 * np.sin(np.arange(400) / 40)
    outlook = Outlook(180.0, 360.0)
    for place, value in enumerate(values):
        outlook.add(60.0 * place, float(value))
    assert outlook.demand().high == pytest.approx(demand(values, 60.0, 180.0).high, rel=0.02)


def test_a_lead_ends_in_the_step_that_holds_it() -> None:
    assert [lead_steps(lead, 60.0) for lead in (30.0, 60.0, 180.0, 600.0)] == [1, 2, 4, 11]

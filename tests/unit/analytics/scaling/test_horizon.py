"""Demand at the cold start, forecast from a series' own growth."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.scaling import Demand, demand, with_curve
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

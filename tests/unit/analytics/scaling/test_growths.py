"""Growth is learned every hour from a week and used in between as if it had been learned just now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from analytics.scaling.growths import AT_ONCE, RELEARN_AFTER, Growths
from analytics.scaling.horizon import demand, growth_of

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
STEP, LEAD, STAY = 60.0, 300.0, 600.0


def week() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    minutes = np.arange(7 * 1440)
    noise = np.random.default_rng(3).gamma(20.0, 0.05, len(minutes))
    return (50.0 + 30.0 * np.sin(minutes / 1440 * 2 * np.pi)) * noise


def test_what_was_learned_is_used_on_a_shorter_series_as_if_it_were_learned_now() -> None:
    values = week()
    whole = demand(values, STEP, LEAD, STAY)
    part = demand(values[-1440:], STEP, LEAD, STAY, growth_of(values, STEP, LEAD, STAY))
    for name in ("now", "q50", "q90", "q99", "q999", "high"):
        assert getattr(part, name) == pytest.approx(getattr(whole, name), rel=0.01), name


def test_a_week_knows_a_steeper_growth_than_its_last_day() -> None:
    values = week()
    values[: 6 * 1440][np.arange(6 * 1440) % 100 < 10] *= 3.0
    day = demand(values[-1440:], STEP, LEAD, STAY)
    learned = demand(values[-1440:], STEP, LEAD, STAY, growth_of(values, STEP, LEAD, STAY))
    assert learned.q99 > day.q99


def test_pools_are_learned_once_an_hour_and_never_too_many_at_once() -> None:
    growths = Growths()
    growth = growth_of(week(), STEP, LEAD, STAY)
    keys = [(f"pool-{number}", 5) for number in range(AT_ONCE + 3)]
    first = growths.stale(keys, NOW)
    assert len(first) == AT_ONCE
    for key in first:
        growths.keep(key, NOW, growth)
    rest = growths.stale(keys, NOW + timedelta(seconds=15))
    assert rest == set(keys) - first
    for key in rest:
        growths.keep(key, NOW + timedelta(seconds=15), growth)
    assert growths.stale(keys, NOW + timedelta(seconds=30)) == set()
    assert growths.stale(keys, NOW + RELEARN_AFTER) == first


def test_a_pool_that_taught_nothing_is_asked_again_and_one_that_is_gone_is_forgotten() -> None:
    growths = Growths()
    growths.keep("young", NOW, None)
    growths.keep("gone", NOW, growth_of(week(), STEP, LEAD, STAY))
    assert growths.stale(["young"], NOW) == {"young"}
    assert growths.get("gone") is None

"""Burn rates and budgets equal the workbook's arithmetic; nothing is claimed where nothing was counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.slo import budget, burn_rate, lowest_target, seconds_to_exhaustion, wilson_interval, workbook_rules

DAY = 86_400


def test_the_workbooks_factors_are_met_for_30_days_and_scaled_for_28() -> None:
    assert [rule.factor for rule in workbook_rules(30 * DAY)] == pytest.approx([14.4, 6, 3, 1], abs=1e-9)
    assert [rule.factor for rule in workbook_rules(28 * DAY)] == pytest.approx([13.44, 5.6, 2.8, 14 / 15], abs=1e-9)
    assert [(rule.long_seconds, rule.short_seconds) for rule in workbook_rules(30 * DAY)] == [
        (3_600, 300),
        (21_600, 1_800),
        (86_400, 7_200),
        (259_200, 21_600),
    ]


def test_rules_that_look_back_further_than_the_window_are_left_out() -> None:
    assert [rule.long_seconds for rule in workbook_rules(2 * DAY)] == [3_600, 21_600, 86_400]


def test_ten_million_requests_at_99_percent_allow_a_hundred_thousand_bad() -> None:
    found = budget(9_950_000, 50_000, 0.99, window_seconds=30 * DAY, current_burn_rate=2.0)
    assert found is not None
    assert found.allowed_events == pytest.approx(100_000)
    assert (found.used_ratio, found.remaining_ratio) == (pytest.approx(0.5), pytest.approx(0.5))
    assert found.seconds_to_exhaustion == pytest.approx(7.5 * DAY)


def test_no_events_make_no_budget_and_no_burn_rate() -> None:
    assert burn_rate(0, 0, 0.99) is None
    assert budget(0, 0, 0.99, window_seconds=DAY) is None


def test_an_overspent_budget_is_exhausted_now_and_an_unburnt_one_never() -> None:
    spent = budget(90, 10, 0.99, window_seconds=DAY, current_burn_rate=1.0)
    unburnt = budget(100, 0, 0.99, window_seconds=DAY, current_burn_rate=0.0)
    assert spent is not None and unburnt is not None
    assert (spent.remaining_ratio < 0, spent.seconds_to_exhaustion) == (True, 0.0)
    assert unburnt.seconds_to_exhaustion is None
    assert seconds_to_exhaustion(0.5, DAY, None) is None


def test_a_factor_of_14_4_needs_a_target_above_93_06_percent() -> None:
    assert round(lowest_target(14.4), 4) == 0.9306


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0.5, 0.9999))
def test_remaining_budget_and_whole_window_burn_rate_are_one_number(good: int, bad: int, target: float) -> None:
    found = budget(good, bad, target, window_seconds=DAY)
    rate = burn_rate(bad, good + bad, target)
    if found is None or rate is None:
        assert good + bad == 0
    else:
        assert found.used_ratio == pytest.approx(rate)


@given(st.integers(0, 1000), st.integers(1, 1000), st.floats(0.5, 3))
def test_a_wilson_interval_holds_its_ratio_and_stays_within_0_and_1(bad: int, more: int, z: float) -> None:
    total = bad + more
    low, high = wilson_interval(bad, total, z)
    assert 0 <= low <= bad / total + 1e-12
    assert bad / total - 1e-12 <= high <= 1

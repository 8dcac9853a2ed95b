"""Burn rules fire on both windows, never on a handful of requests, and impossible ones are refused with the reason."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.slo import BurnRule, WindowCounts, automatic_rules, firing, impossible
from analytics.slo.alerting import GUARD_Z
from analytics.slo.timeline import firing_minutes, trailing_sums
from benchmarks.slo.incidents import minutes_with_incidents

PAGE = BurnRule("page", 3_600, 300, 14.4)


def counts(long: tuple[int, int], short: tuple[int, int]) -> dict[int, WindowCounts]:
    return {3_600: WindowCounts(*long), 300: WindowCounts(*short)}


def test_both_windows_must_burn() -> None:
    assert firing((PAGE,), counts((8_000, 2_000), (800, 200)), 0.99)
    assert not firing((PAGE,), counts((8_000, 2_000), (1_000, 0)), 0.99)
    assert not firing((PAGE,), counts((9_990, 10), (800, 200)), 0.99)


def test_a_rule_fires_above_its_factor_not_at_it() -> None:
    at = counts((8_560, 1_440), (856, 144))
    assert not firing((BurnRule("page", 3_600, 300, 0.144 / (1 - 0.99)),), at, 0.99)


def test_one_bad_request_of_twenty_pages_nobody() -> None:
    one = counts((19, 1), (0, 1))
    assert firing((PAGE,), one, 0.999)
    assert not firing((PAGE,), one, 0.999, min_events=50)
    assert not firing((PAGE,), one, 0.999, z=GUARD_Z)


def test_no_traffic_fires_nothing() -> None:
    assert not firing((PAGE,), counts((0, 0), (0, 0)), 0.99)
    assert not firing((PAGE,), {}, 0.99)


@pytest.mark.parametrize(("factor", "target"), [(14.4, 0.93), (14.4, 0.9), (6.0, 0.83), (2.0, 0.5)])
def test_a_rule_that_a_full_outage_cannot_reach_is_refused(factor: float, target: float) -> None:
    reason = impossible(BurnRule("page", 3_600, 300, factor), target)
    assert reason is not None
    assert "can never fire" in reason


def test_just_above_the_lowest_target_the_rule_can_fire() -> None:
    assert impossible(PAGE, 0.9306) is None
    assert firing((PAGE,), counts((0, 1_000), (0, 100)), 0.9306)


def test_automatic_rules_can_all_fire_at_any_target() -> None:
    for target in (0.5, 0.9, 0.95, 0.99, 0.999):
        rules = automatic_rules(target, 28 * 86_400)
        assert all(impossible(rule, target) is None for rule in rules)


def test_trailing_sums_are_shorter_where_the_data_begins() -> None:
    assert trailing_sums(np.array([1, 2, 3, 4]), 2).tolist() == [1, 3, 5, 7]


def test_the_timeline_says_minute_by_minute_what_firing_says() -> None:
    good, bad = minutes_with_incidents(1, seed=2)
    rules = automatic_rules(0.99, 28 * 86_400)
    fires = firing_minutes(good, bad, rules, 0.99, min_events=20, z=GUARD_Z)
    for minute in range(0, len(good), 37):
        windows = {
            seconds: WindowCounts(
                int(good[max(0, minute + 1 - seconds // 60) : minute + 1].sum()),
                int(bad[max(0, minute + 1 - seconds // 60) : minute + 1].sum()),
            )
            for rule in rules
            for seconds in (rule.long_seconds, rule.short_seconds)
        }
        now = {one.rule for one in firing(rules, windows, 0.99, min_events=20, z=GUARD_Z)}
        assert now == {rule for rule, row in zip(rules, fires, strict=True) if row[minute]}

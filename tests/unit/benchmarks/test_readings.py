"""How a baseline counts that was tuned on one week and judged on the next."""

from __future__ import annotations

from math import inf

import pytest

from analytics.replay.outcome import Outcome
from benchmarks.fleet.contest import Contest, Point
from benchmarks.fleet.readings import all_tuned, as_tuned, in_hindsight


def outcome(good: float, hours: float, events: int = 10) -> Outcome:
    return Outcome("any", good, 0, hours, events // 2, events)


def point(
    policy: str, target: float, tuning: tuple[float, float], reported: tuple[float, float], *events: int
) -> Point:
    return Point(policy, target, outcome(*tuning), outcome(*reported, *events))


#: One baseline: at 0.8 it keeps 99 % on the tuning days only, at 0.6 on both.
GRID = (
    point("hpa", 0.9, (0.97, 80.0), (0.96, 85.0)),
    point("hpa", 0.8, (0.991, 90.0), (0.98, 95.0)),
    point("hpa", 0.6, (0.998, 120.0), (0.996, 127.0)),
)


def contest(good: float, *points: Point) -> Contest:
    return Contest(
        "any", 180.0, points or GRID, point("sloscope", 1.0, (0.99, 90.0), (good, 90.0)), outcome(0.99, 70.0)
    )


def test_the_cheapest_target_at_99_percent_is_what_tuning_chooses() -> None:
    assert [one.target for one in all_tuned(contest(0.99))] == [0.8]


def test_where_no_target_reaches_99_percent_the_nearest_is_chosen() -> None:
    assert all_tuned(contest(0.99, GRID[0]))[0].target == 0.9


def test_a_baseline_that_falls_short_counts_with_what_it_needs_for_our_ratio() -> None:
    hours, best = as_tuned(contest(0.995))
    assert best.target == 0.8
    # 0.99 lies 10/16 of the way from 0.98 (95 h) to 0.996 (127 h)
    assert hours == pytest.approx(95.0 + 32.0 * 10 / 16)


def test_a_baseline_that_keeps_the_objective_counts_as_it_ran() -> None:
    steady = point("keda", 0.5, (0.992, 100.0), (0.9999, 100.0))
    loose = point("keda", 0.6, (0.98, 60.0), (0.985, 60.0))
    assert as_tuned(contest(0.993, steady, loose))[0] == 100.0
    assert in_hindsight(contest(0.993, steady, loose))[0] < 100.0


def test_where_ours_falls_short_the_baseline_is_moved_down_to_it() -> None:
    steady = point("keda", 0.5, (0.992, 100.0), (0.9999, 100.0))
    loose = point("keda", 0.6, (0.98, 60.0), (0.985, 60.0))
    assert as_tuned(contest(0.985, steady, loose))[0] == 60.0


def test_both_readings_agree_where_ours_falls_short() -> None:
    assert as_tuned(contest(0.97))[0] == in_hindsight(contest(0.97))[0]


def test_a_baseline_that_never_reaches_our_ratio_does_not_count() -> None:
    assert as_tuned(contest(0.99, GRID[0]))[0] == inf


def test_a_fleet_that_never_moves_is_no_measure_of_flaps() -> None:
    still = point("static-peak", 1.0, (0.999, 50.0), (0.999, 50.0), 0)
    done = contest(0.99, still, *GRID)
    assert as_tuned(done)[1].policy == "static-peak"
    assert as_tuned(done, moving=True)[1].policy == "hpa"

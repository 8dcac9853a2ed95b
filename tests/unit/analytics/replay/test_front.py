"""The front holds what nothing undercuts at the same or a better good ratio."""

from __future__ import annotations

from math import nan

from hypothesis import given
from hypothesis import strategies as st

from analytics.replay.front import pareto_front
from analytics.replay.outcome import Outcome


def outcome(name: str, good_ratio: float, gpu_hours: float) -> Outcome:
    return Outcome(name, good_ratio, 0, gpu_hours, 0, 0)


def test_the_front_rises_in_cost_and_quality() -> None:
    table = [outcome("dear", 0.999, 30), outcome("worse", 0.98, 25), outcome("good", 0.99, 20), outcome("bad", 0.5, 10)]
    assert [one.policy for one in pareto_front(table)] == ["bad", "good", "dear"]


def test_of_equal_cost_the_better_one_is_on_the_front_and_unknown_figures_on_none() -> None:
    table = [outcome("a", 0.9, 10), outcome("b", 0.95, 10), outcome("c", nan, 1), outcome("d", 0.99, nan)]
    assert [one.policy for one in pareto_front(table)] == ["b"]
    assert pareto_front([]) == []


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 100)), max_size=12))
def test_every_policy_off_the_front_is_matched_by_one_on_it(pairs: list[tuple[float, float]]) -> None:
    table = [outcome(str(k), good, hours) for k, (good, hours) in enumerate(pairs)]
    front = pareto_front(table)
    for one in table:
        assert any(other.gpu_hours <= one.gpu_hours and other.good_ratio >= one.good_ratio for other in front)

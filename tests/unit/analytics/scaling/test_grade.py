"""Decisions are graded by what came after them."""

from __future__ import annotations

from math import nan

import pytest

from analytics.scaling.grade import grade


@pytest.mark.parametrize(
    ("proposed", "demand", "good", "verdict"),
    [
        (10, 95.0, 0.999, "right"),
        (10, 130.0, 0.9, "short"),
        (10, 50.0, 0.999, "excess"),
        (2, 9.0, 1.0, "right"),
        (10, nan, 1.0, "unknown"),
        (10, 80.0, 0.9, "right"),
    ],
)
def test_grades(proposed: int, demand: float, good: float, verdict: str) -> None:
    document = {"proposed": proposed, "action": "hold", "capacity_per_instance": {"value": 10.0}}
    assert grade(document, demand, good).verdict == verdict


def test_a_blind_decision_is_not_graded() -> None:
    document = {"proposed": 1, "action": "hold_blind", "capacity_per_instance": {"value": 10.0}}
    assert grade(document, 100.0, 0.5).verdict == "unknown"

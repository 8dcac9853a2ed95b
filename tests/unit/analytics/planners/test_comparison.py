"""Broken assumptions: those whose measured interval excludes them, the ones that decide the plan first."""

from __future__ import annotations

from dataclasses import replace

from analytics.planners import get
from analytics.planners.autoscaling import AutoscalingInputs
from analytics.planners.comparison import compare
from analytics.planners.form import Estimate

ASSUMED = AutoscalingInputs()


def _measured(**values: float) -> tuple[AutoscalingInputs, dict[str, Estimate]]:
    estimates = {name: Estimate(value, value * 0.95, value * 1.05, "test") for name, value in values.items()}
    return replace(ASSUMED, **values), estimates


def test_an_assumption_inside_the_interval_is_not_broken() -> None:
    measured, estimates = _measured(requests_per_second=204.0)
    found = compare(get("autoscaling"), ASSUMED, measured, estimates)
    assert found.broken == ()
    assert found.verdicts == ()


def test_what_moves_the_deciding_step_comes_first() -> None:
    measured, estimates = _measured(nvme_bytes_per_second=1e5, requests_per_second=400.0)
    found = compare(get("autoscaling"), ASSUMED, measured, estimates)
    assert [row["input"] for row in found.broken] == ["requests_per_second", "nvme_bytes_per_second"]
    assert found.broken[0]["step"] == "instances_needed"
    assert "instances_needed from 11.9 to 23.81" in found.verdicts[0].because


def test_observations_are_no_assumptions() -> None:
    measured, estimates = _measured(observed_concurrency=10.0)
    assert compare(get("autoscaling"), ASSUMED, measured, estimates).broken == ()


def test_tables_without_an_interval_are_left_out() -> None:
    table = (("50", 9.0), ("99", 9.0))
    found = compare(
        get("autoscaling"),
        ASSUMED,
        replace(ASSUMED, growth_at=table),
        {"growth_at": Estimate(table, None, None, "test")},
    )
    assert found.broken == ()

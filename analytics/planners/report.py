"""Shapes a plan as JSON has it; adds no figure of its own."""

from __future__ import annotations

from collections.abc import Iterable

from analytics.planners.form import Plan, PlannerInputs, Step, Verdict, declared
from analytics.planners.settings import plain

__all__ = ["Json", "input_rows", "plan_report", "step_rows", "verdict_rows"]

#: What `json.dumps` takes.
Json = dict[str, object]


def plan_report(plan: Plan) -> Json:
    """Return {"planner", "inputs", "steps", "verdicts", "headline"}; inputs carry value, unit and source."""
    return {
        "planner": plan.planner,
        "inputs": input_rows(plan.inputs),
        "steps": step_rows(plan.steps),
        "verdicts": verdict_rows(plan.verdicts),
        "headline": plan.headline,
    }


def step_rows(steps: Iterable[Step]) -> list[Json]:
    """Return steps as {"name", "value", "unit", "because"}."""
    return [{"name": step.name, "value": step.value, "unit": step.unit, "because": step.because} for step in steps]


def verdict_rows(verdicts: Iterable[Verdict]) -> list[Json]:
    """Return verdicts as {"verdict", "holds", "because"}."""
    return [{"verdict": each.verdict, "holds": each.holds, "because": each.because} for each in verdicts]


def input_rows(inputs: PlannerInputs) -> dict[str, Json]:
    """Return each input with value, unit and source: given where it is not the default."""
    return {
        entry.name: {
            "value": plain(getattr(inputs, entry.name)),
            "unit": entry.unit,
            "source": "assumed" if getattr(inputs, entry.name) == entry.default else "given",
        }
        for entry in declared(type(inputs))
    }

"""Shapes a plan as JSON has it; adds no figure of its own."""

from __future__ import annotations

from analytics.planners.form import Plan, PlannerInputs, declared
from analytics.planners.settings import PlainValue, plain

__all__ = ["input_rows", "plan_report"]

#: What `json.dumps` takes.
Json = dict[str, object]


def plan_report(plan: Plan) -> Json:
    """Return {"planner", "inputs", "steps", "verdicts", "headline"}; inputs carry unit and source."""
    return {
        "planner": plan.planner,
        "inputs": input_rows(plan.inputs),
        "steps": [
            {"name": step.name, "value": step.value, "unit": step.unit, "because": step.because} for step in plan.steps
        ],
        "verdicts": [{"verdict": each.verdict, "holds": each.holds, "because": each.because} for each in plan.verdicts],
        "headline": plan.headline,
    }


def input_rows(inputs: PlannerInputs) -> dict[str, Json]:
    """Return each input with its value, unit, help, range and where the assumption comes from."""
    rows: dict[str, Json] = {}
    for entry in declared(type(inputs)):
        value: PlainValue = plain(getattr(inputs, entry.name))
        changed = getattr(inputs, entry.name) != entry.default
        rows[entry.name] = {
            "value": value,
            "unit": entry.unit,
            "source": "given" if changed else "assumed",
            "assumed": plain(entry.default),
            "assumption": entry.source,
            "help": entry.help,
            "range": [entry.low, entry.high],
        }
    return rows

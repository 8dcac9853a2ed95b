"""Plans ten kinds of inference system from assumed, given or measured inputs; pure arithmetic that explains itself."""

from analytics.planners.form import Estimate, InputField, Plan, PlannerInputs, Step, StepValue, Verdict
from analytics.planners.planner import Monotone, Planner
from analytics.planners.registry import PLANNERS, get, names

__all__ = [
    "PLANNERS",
    "Estimate",
    "InputField",
    "Monotone",
    "Plan",
    "Planner",
    "PlannerInputs",
    "Step",
    "StepValue",
    "Verdict",
    "get",
    "names",
]

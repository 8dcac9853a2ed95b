"""Says which assumption reality breaks, and what that changes in the plan; decides nothing about the system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from analytics.planners.form import Estimate, Plan, PlannerInputs, StepValue, Verdict
from analytics.planners.planner import Planner

__all__ = ["Comparison", "compare"]

#: Inputs named in verdicts; all broken ones are in `broken`.
_NAMED = 5
#: Inputs that are observations to hold against the plan, not assumptions of it.
_OBSERVED = "observed_"
#: A move smaller than this is not worth naming.
_VISIBLE = 0.001


@dataclass(frozen=True, slots=True)
class Comparison:
    """Assumptions that the measured interval excludes, most consequential first, as rows and as verdicts."""

    broken: tuple[dict[str, object], ...]
    verdicts: tuple[Verdict, ...]


def compare(
    planner: Planner, assumed: PlannerInputs, measured: PlannerInputs, estimates: Mapping[str, Estimate]
) -> Comparison:
    """Return the broken assumptions, each with the step that it alone moves most."""
    base = assumed.plan()
    rows: list[tuple[bool, float, dict[str, object], Verdict]] = []
    for entry in fields(assumed):  # type: ignore[arg-type]  # every PlannerInputs is a dataclass
        found = estimates.get(entry.name)
        if (
            entry.name.startswith(_OBSERVED)
            or found is None
            or found.low is None
            or found.high is None
            or isinstance(found.value, tuple)
        ):
            continue
        before = float(getattr(assumed, entry.name))
        if found.low <= before <= found.high:
            continue
        alone = replace(assumed, **{entry.name: getattr(measured, entry.name)})  # type: ignore[type-var]
        size, step, was, becomes = _move(planner.decides, base, alone.plan())
        because = f"assumed {before:.4g}, measured {found.value:.4g} [{found.low:.4g}, {found.high:.4g}]"
        if step:
            because += f"; alone it moves {step} from {was:.4g} to {becomes:.4g}"
        row: dict[str, object] = {
            "input": entry.name,
            "assumed": before,
            "measured": found.value,
            "interval": [found.low, found.high],
            "step": step or None,
            "step_before": was if step else None,
            "step_after": becomes if step else None,
        }
        rows.append((step == planner.decides, size, row, Verdict(f"the assumed {entry.name} holds", False, because)))
    rows.sort(key=lambda each: each[:2], reverse=True)
    return Comparison(tuple(row for *_, row, _ in rows), tuple(verdict for *_, verdict in rows[:_NAMED]))


def _move(decides: str, before: Plan, after: Plan) -> tuple[float, str, float, float]:
    """Return (relative size, step, before, after) of the deciding step if it moved, else of the one that moved most."""
    largest = (0.0, "", 0.0, 0.0)
    for old, new in zip(before.steps, after.steps, strict=True):
        if _is_number(old.value) and _is_number(new.value):
            was, becomes = float(str(old.value)), float(str(new.value))
            size = abs(becomes - was) / max(abs(was), abs(becomes), 1e-300)
            if size > _VISIBLE and old.name == decides:
                return size, old.name, was, becomes
            if was != 0 and size > largest[0]:
                largest = (size, old.name, was, becomes)
    return largest


def _is_number(value: StepValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

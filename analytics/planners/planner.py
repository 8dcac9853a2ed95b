"""A planner: its name, the question it answers, its inputs and how its steps move with them; holds no state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analytics.planners.form import InputField, Plan, PlannerInputs, declared
from analytics.planners.settings import Setting, inputs_from, validate

__all__ = ["Monotone", "Planner"]


@dataclass(frozen=True, slots=True)
class Monotone:
    """A declared direction: raising `input` never lowers `step` (or never raises it, where `falls`)."""

    input: str
    step: str
    falls: bool = False


@dataclass(frozen=True, slots=True)
class Planner:
    """One planner. `signals` are the canonical signals it reads beyond the columns of the public views."""

    name: str
    title: str
    question: str
    inputs: type[PlannerInputs]
    decides: str
    monotone: tuple[Monotone, ...]

    def fields(self) -> tuple[InputField, ...]:
        """Return the declared inputs with unit, range, help and source."""
        return declared(self.inputs)

    def read(self, settings: Mapping[str, Setting]) -> PlannerInputs:
        """Return validated inputs: `settings` over the defaults."""
        return inputs_from(self.inputs, settings)

    def plan(self, inputs: PlannerInputs | Mapping[str, Setting] | None = None) -> Plan:
        """Return the plan for `inputs`: this planner's frozen inputs, settings over its defaults, or the defaults."""
        if inputs is None:
            return self.inputs().plan()
        if isinstance(inputs, Mapping):
            return self.read(inputs).plan()
        if not isinstance(inputs, self.inputs):
            raise TypeError(f"{self.name} plans from {self.inputs.__name__}, not {type(inputs).__name__}")
        validate(inputs)
        return inputs.plan()

"""The one form of a planner: declared inputs, explained steps, verdicts, a headline; never reads a store or a clock.

An input declares its unit, range, meaning and where its default comes from, as metadata of a frozen dataclass field.
There are four kinds: a number, a whole number, several numbers, and named numbers (pairs of name and value).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from signals.errors import UnknownNameError

__all__ = [
    "Estimate",
    "InputField",
    "Named",
    "Numbers",
    "Plan",
    "PlannerInputs",
    "Step",
    "StepValue",
    "Verdict",
    "declared",
    "named",
    "number",
    "numbers",
    "whole",
]

Kind = Literal["number", "whole", "numbers", "named"]
Numbers = tuple[float, ...]
#: Named numbers, hashable and ordered: (("naive", 0.0002), ("precompiled", 0.00002)).
Named = tuple[tuple[str, float], ...]
InputValue = float | Numbers | Named
#: A step's value: a number, a truth, None where the step has no answer, or a table of those.
StepValue = float | bool | Mapping[str, "StepValue"] | None


@dataclass(frozen=True, slots=True)
class InputField:
    """One declared input. `low` and `high` bound each number in it, both inclusive."""

    name: str
    kind: Kind
    unit: str
    default: InputValue
    low: float
    high: float
    help: str
    source: str


@dataclass(frozen=True, slots=True)
class Step:
    """One computed figure with its unit and the sentence that derives it."""

    name: str
    value: StepValue
    unit: str
    because: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A statement about the plan, whether it holds, and why."""

    verdict: str
    holds: bool
    because: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured input: its value, the interval that holds the truth, and what it was measured from.

    `low` and `high` are None for what is read rather than estimated (a distribution, a table of names).
    """

    value: InputValue
    low: float | None
    high: float | None
    basis: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a planner answers: the inputs it used, its steps in order, its verdicts and one line for people."""

    planner: str
    inputs: PlannerInputs
    steps: tuple[Step, ...]
    verdicts: tuple[Verdict, ...]
    headline: str

    def value(self, name: str) -> StepValue:
        """Return the value of the step `name`."""
        for step in self.steps:
            if step.name == name:
                return step.value
        raise UnknownNameError("step", name, [step.name for step in self.steps])

    def number(self, name: str) -> float:
        """Return the value of a step that is one number."""
        found = self.value(name)
        if found is None or isinstance(found, Mapping):
            raise TypeError(f"step {name} of {self.planner} is not one number: {found!r}")
        return float(found)


class PlannerInputs(ABC):
    """Base of every planner's frozen inputs; `plan` is pure arithmetic over the fields."""

    __slots__ = ()

    @abstractmethod
    def plan(self) -> Plan:
        """Return the plan that follows from these inputs."""


def number(default: float, unit: str, low: float, high: float, help: str, source: str) -> float:  # noqa: A002
    """Declare an input that is one number."""
    return field(default=default, metadata=_declaration(default, "number", unit, low, high, help, source))


def whole(default: int, unit: str, low: int, high: int, help: str, source: str) -> int:  # noqa: A002
    """Declare an input that is one whole number."""
    return field(default=default, metadata=_declaration(default, "whole", unit, low, high, help, source))


def numbers(default: Numbers, unit: str, low: float, high: float, help: str, source: str) -> Numbers:  # noqa: A002
    """Declare an input of one or more numbers."""
    return field(default=default, metadata=_declaration(default, "numbers", unit, low, high, help, source))


def named(default: Mapping[str, float], unit: str, low: float, high: float, help: str, source: str) -> Named:  # noqa: A002
    """Declare an input of named numbers."""
    pairs = tuple(default.items())
    return field(default=pairs, metadata=_declaration(pairs, "named", unit, low, high, help, source))


def _declaration(
    default: InputValue, kind: Kind, unit: str, low: float, high: float, meaning: str, source: str
) -> dict[str, InputField]:
    return {"declared": InputField("", kind, unit, default, low, high, meaning, source)}


def declared(inputs: type[PlannerInputs]) -> tuple[InputField, ...]:
    """Return the declared inputs of a planner in the order of its dataclass."""
    found: list[InputField] = []
    for entry in fields(inputs):  # type: ignore[arg-type]  # every subclass is a dataclass
        declaration: InputField = entry.metadata["declared"]
        found.append(replace(declaration, name=entry.name))
    return tuple(found)

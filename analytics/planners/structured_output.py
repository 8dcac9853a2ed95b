"""Plans constrained decoding: mask time against step time by batch; never compiles a grammar."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.planners.form import (
    Plan,
    PlannerInputs,
    Step,
    StepValue,
    Verdict,
    named,
    number,
    numbers,
)
from analytics.planners.planner import Planner

__all__ = ["PLANNER", "StructuredOutputInputs"]

_DESIGN = "reference design of structured output and tool calling"


@dataclass(frozen=True, slots=True)
class StructuredOutputInputs(PlannerInputs):
    """The GPU's step and the CPU's mask work."""

    step_seconds: float = number(0.025, "s", 1e-5, 100, "GPU time of one decode step.", _DESIGN)
    mask_seconds_per_request: tuple[tuple[str, float], ...] = named(
        {"naive": 200e-6, "precompiled": 20e-6}, "s", 0, 10, "CPU time of one request's mask in one step.", _DESIGN
    )
    batches: tuple[float, ...] = numbers((32, 256), "requests", 1, 100_000, "Batch sizes to compare.", _DESIGN)

    def plan(self) -> Plan:
        """Return mask time by method and batch, and whether it hides behind the step."""
        masks: dict[str, StepValue] = {}
        hidden: dict[str, StepValue] = {}
        over = []
        for method, seconds in self.mask_seconds_per_request:
            masks[method] = {f"{batch:g}": batch * seconds * 1e3 for batch in self.batches}
            hidden[method] = {f"{batch:g}": batch * seconds < self.step_seconds for batch in self.batches}
            over += [f"{method} at {batch:g}" for batch in self.batches if batch * seconds >= self.step_seconds]
        steps = (
            Step("mask_milliseconds", masks, "ms", "batch x mask time of one request"),
            Step("hidden", hidden, "true or false", "the CPU finishes the next mask while the GPU computes this step"),
        )
        verdicts = (
            Verdict(
                "masks hide behind the GPU step",
                not over,
                "every mask is ready in time" if not over else f"too slow: {', '.join(over)}",
            ),
        )
        headline = f"Masks {'always hide' if not over else 'become the bottleneck for ' + ', '.join(over)}"
        return Plan(PLANNER.name, self, steps, verdicts, headline)


PLANNER = Planner(
    name="structured_output",
    title="Structured output",
    question="Up to which batch does mask computation hide behind the GPU step?",
    inputs=StructuredOutputInputs,
    decides="mask_milliseconds",
    monotone=(),
)

"""Plans constrained decoding: mask time against step time by batch; never compiles a grammar."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from analytics.planners.form import Plan, PlannerInputs, Step, StepValue, Verdict, named, number, numbers, whole
from analytics.planners.planner import Monotone, Planner

__all__ = ["PLANNER", "StructuredOutputInputs"]

_DESIGN = "reference design of structured output and tool calling"

_OWN = "an assumption to measure"


@dataclass(frozen=True, slots=True)
class StructuredOutputInputs(PlannerInputs):
    """The GPU's step and the CPU's mask work."""

    step_seconds: float = number(0.025, "s", 1e-5, 100, "GPU time of one decode step.", _DESIGN)
    mask_seconds_per_request: tuple[tuple[str, float], ...] = named(
        {"naive": 200e-6, "precompiled": 20e-6}, "s", 0, 10, "CPU time of one request's mask in one step.", _DESIGN
    )
    batches: tuple[float, ...] = numbers((32, 256), "requests", 1, 100_000, "Batch sizes to compare.", _DESIGN)
    mask_seconds: float = number(20e-6, "s", 0, 10, "CPU time of one request's mask in the system at hand.", _DESIGN)
    batch_in_use: float = number(64, "requests", 0, 100_000, "Constrained requests in a batch.", _OWN)
    mask_threads: int = whole(1, "threads", 1, 1024, "Threads that share the masks of one step.", _OWN)
    compile_seconds: float = number(0.3, "s", 0, 1000, "Compiling one schema.", _OWN)
    schema_cache_hit_ratio: float = number(0.95, "ratio", 0, 1, "Requests whose schema is compiled already.", _OWN)
    structured_requests_per_second: float = number(20, "requests/s", 0, 1e6, "Constrained arrivals.", _OWN)
    format_error_ratio: float = number(0.03, "ratio", 0, 0.99, "Answers that break the format unconstrained.", _OWN)
    mean_request_seconds: float = number(8, "s", 0.001, 1e5, "Mean time of one request.", _OWN)

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
        return Plan(PLANNER.name, self, steps + self._in_use() + self._schemas(), verdicts, headline)

    def _in_use(self) -> tuple[Step, ...]:
        """Return where masks stop hiding, and what the system at hand loses to them."""
        budget = self.step_seconds * self.mask_threads
        limits: dict[str, StepValue] = {
            method: floor(round(budget / seconds, 9)) if seconds > 0 else None
            for method, seconds in self.mask_seconds_per_request
        }
        mask = self.batch_in_use * self.mask_seconds / self.mask_threads
        exposed = max(0.0, mask - self.step_seconds)
        here = floor(round(budget / self.mask_seconds, 9)) if self.mask_seconds > 0 else None
        return (
            Step("largest_hidden_batch", limits, "requests", "step x threads / mask time of one request; none if free"),
            Step("largest_hidden_batch_in_use", here, "requests", "the same for the mask time at hand"),
            Step("mask_seconds_in_use", mask, "s", "batch x mask time / threads"),
            Step("step_slowdown_ratio", exposed / self.step_seconds, "ratio", "mask time beyond the step / step"),
        )

    def _schemas(self) -> tuple[Step, ...]:
        """Return what compiling costs, and what validating afterwards would cost instead."""
        compiling = (1 - self.schema_cache_hit_ratio) * self.compile_seconds
        retries = self.format_error_ratio / (1 - self.format_error_ratio)
        return (
            Step("compile_seconds_per_request", compiling, "s", "cache misses x compile seconds"),
            Step("compile_cores", compiling * self.structured_requests_per_second, "cores", "that x arrivals"),
            Step("retries_per_request_unconstrained", retries, "retries", "e / (1 - e), e of answers broken"),
            Step(
                "retry_seconds_per_request",
                retries * self.mean_request_seconds,
                "s",
                "validating afterwards: retries x seconds of a request",
            ),
        )


PLANNER = Planner(
    name="structured_output",
    title="Structured output",
    question="Up to which batch does mask computation hide behind the GPU step?",
    inputs=StructuredOutputInputs,
    decides="mask_seconds_in_use",
    monotone=(
        Monotone("batch_in_use", "mask_seconds_in_use"),
        Monotone("mask_threads", "mask_seconds_in_use", falls=True),
        Monotone("schema_cache_hit_ratio", "compile_seconds_per_request", falls=True),
        Monotone("format_error_ratio", "retry_seconds_per_request"),
    ),
)

"""Plans speculative decoding: drafts per step, tokens per step, speed-up by acceptance and batch; never samples."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.planners.acceptance import best_drafts, speedup, tokens_per_step
from analytics.planners.form import Plan, PlannerInputs, Step, StepValue, Verdict, number, numbers, whole
from analytics.planners.planner import Planner

__all__ = ["PLANNER", "SpeculationInputs"]

_DESIGN = "reference design of speculative decoding in production"


@dataclass(frozen=True, slots=True)
class SpeculationInputs(PlannerInputs):
    """What a draft costs and how often it is accepted."""

    draft_cost_ratio: float = number(0.05, "ratio", 0, 1, "Cost of one draft token, in decode steps.", _DESIGN)
    acceptance_rates: tuple[float, ...] = numbers(
        (0.6, 0.8, 0.9), "ratio", 0, 0.999, "Acceptance rates to compare.", _DESIGN
    )
    max_draft_tokens: int = whole(8, "tokens", 1, 64, "Most draft tokens considered.", _DESIGN)

    def plan(self) -> Plan:
        """Return the best number of drafts and what it brings."""
        table: dict[str, StepValue] = {}
        for rate in self.acceptance_rates:
            best = best_drafts(rate, self.draft_cost_ratio, self.max_draft_tokens)
            table[f"{rate:g}"] = {
                "best_draft_tokens": best,
                "tokens_per_step": tokens_per_step(rate, best),
                "speedup": speedup(rate, best, self.draft_cost_ratio),
            }
        steps = (
            Step(
                "by_acceptance",
                table,
                "drafts, tokens/step, ratio",
                "(1 - a^(k+1)) / (1 - a) tokens a step, over 1 + k x draft cost; k is the best up to the most allowed",
            ),
        )
        top = max(self.acceptance_rates)
        best = best_drafts(top, self.draft_cost_ratio, self.max_draft_tokens)
        gain = speedup(top, best, self.draft_cost_ratio)
        verdicts = (Verdict("speculation pays with small batches", gain > 1, f"{gain:.2f}x at {top:g} acceptance"),)
        headline = f"At {top:g} acceptance {best} drafts bring {gain:.2f}x with small batches"
        return Plan(PLANNER.name, self, steps, verdicts, headline)


PLANNER = Planner(
    name="speculation",
    title="Speculative decoding",
    question="How many tokens to draft, and up to which batch does it pay?",
    inputs=SpeculationInputs,
    decides="by_acceptance",
    monotone=(),
)

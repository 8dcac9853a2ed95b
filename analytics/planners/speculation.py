"""Plans speculative decoding: drafts per step, tokens per step, speed-up by acceptance and batch; never samples."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.planners.acceptance import acceptance_from_length, best_drafts, speedup, tokens_per_step
from analytics.planners.form import Plan, PlannerInputs, Step, StepValue, Verdict, named, number, numbers, whole
from analytics.planners.planner import Monotone, Planner
from analytics.planners.step_time import StepTime

__all__ = ["PLANNER", "SpeculationInputs"]

_DESIGN = "reference design of speculative decoding in production"

_OWN = "an assumption to measure"
_BATCH_LADDER = tuple(2**power for power in range(17))


@dataclass(frozen=True, slots=True)
class SpeculationInputs(PlannerInputs):
    """What a draft costs and how often it is accepted."""

    draft_cost_ratio: float = number(0.05, "ratio", 0, 1, "Cost of one draft token, in decode steps.", _DESIGN)
    acceptance_rates: tuple[float, ...] = numbers(
        (0.6, 0.8, 0.9), "ratio", 0, 0.999, "Acceptance rates to compare.", _DESIGN
    )
    max_draft_tokens: int = whole(8, "tokens", 1, 64, "Most draft tokens considered.", _DESIGN)
    acceptance_rate: float = number(0.8, "ratio", 0, 0.999, "Acceptance of one draft token in use.", _DESIGN)
    draft_tokens: int = whole(3, "tokens", 1, 64, "Draft tokens per step in use.", _OWN)
    step_base_seconds: float = number(0.02, "s", 1e-6, 100, "A step's time without tokens: reading the weights.", _OWN)
    step_seconds_per_token: float = number(40e-6, "s", 0, 1, "What each token adds to a step.", _OWN)
    batches: tuple[float, ...] = numbers((1, 8, 32, 128, 256), "requests", 1, 100_000, "Batches to compare.", _OWN)
    acceptance_by_domain: tuple[tuple[str, float], ...] = named(
        {"code": 0.85, "chat": 0.75, "translation": 0.6}, "ratio", 0, 0.999, "Acceptance by kind of work.", _OWN
    )
    on_tpot_seconds: float = number(0.012, "s", 1e-6, 100, "Time per output token with speculation.", _OWN)
    off_tpot_seconds: float = number(0.025, "s", 1e-6, 100, "The same in the control group without.", _OWN)
    observed_speedup: float = number(
        2.08, "ratio", 1e-3, 1e3, "Time per token of the control group over that with speculation.", _OWN
    )
    accepted_per_step_by_group: tuple[tuple[str, float], ...] = named(
        {"three drafts": 1.95, "five drafts": 2.69}, "tokens", 0, 64, "Accepted tokens per step of two set-ups.", _OWN
    )
    draft_tokens_by_group: tuple[tuple[str, float], ...] = named(
        {"three drafts": 3, "five drafts": 5}, "tokens", 0.01, 64, "Draft tokens per step of each.", _OWN
    )

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
        verdicts = (
            Verdict("speculation pays with small batches", gain > 1, f"{gain:.2f}x at {top:g} acceptance"),
            Verdict(
                "the control group confirms it",
                self.observed_speedup > 1,
                f"{self.observed_speedup:.3g}x: {self.on_tpot_seconds * 1e3:.3g} ms a token with it, "
                f"{self.off_tpot_seconds * 1e3:.3g} ms without",
            ),
        )
        headline = f"At {top:g} acceptance {best} drafts bring {gain:.2f}x with small batches"
        return Plan(
            PLANNER.name, self, steps + self._by_batch() + self._in_use() + self._compared(), verdicts, headline
        )

    def _by_batch(self) -> tuple[Step, ...]:
        """Return speed-up, best drafts and break-even acceptance as the batch grows."""
        time = StepTime(self.step_base_seconds, self.step_seconds_per_token, self.draft_cost_ratio)
        rate, most = self.acceptance_rate, self.max_draft_tokens
        speeds: dict[str, StepValue] = {}
        best: dict[str, StepValue] = {}
        even: dict[str, StepValue] = {}
        domains: dict[str, dict[str, StepValue]] = {domain: {} for domain, _ in self.acceptance_by_domain}
        for batch in self.batches:
            key = f"{batch:g}"
            speeds[key] = time.speedup(batch, rate, self.draft_tokens)
            best[key] = time.best_drafts(batch, rate, most)
            even[key] = time.break_even_acceptance(batch, self.draft_tokens)
            for domain, accepted in self.acceptance_by_domain:
                domains[domain][key] = time.best_drafts(batch, accepted, most)
        off = next((batch for batch in _BATCH_LADDER if time.best_drafts(batch, rate, most) == 0), None)
        return (
            Step("speedup_by_batch", speeds, "ratio", "tokens a second with the drafts in use over without, by batch"),
            Step("best_draft_tokens_by_batch", best, "tokens", "most tokens a second; 0 is off"),
            Step(
                "break_even_acceptance_by_batch",
                even,
                "ratio",
                "acceptance at which the drafts in use neither help nor harm; none where even 1 does not",
            ),
            Step("best_draft_tokens_by_domain", domains, "tokens", "by kind of work and batch"),
            Step("off_from_batch", off, "requests", "smallest power of two at which no draft pays; none up to 65,536"),
        )

    def _in_use(self) -> tuple[Step, ...]:
        """Return tokens per step in use and the effect that the control group shows."""
        advance = tokens_per_step(self.acceptance_rate, self.draft_tokens)
        return (
            Step("tokens_per_step_in_use", advance, "tokens/step", "1 + a + ... + a^k at the drafts in use"),
            Step(
                "accepted_share_of_drafts",
                (advance - 1) / self.draft_tokens,
                "ratio",
                "what accepted / drafted reads at these drafts; compare acceptance, which does not move with k",
            ),
            Step(
                "on_off_speedup",
                self.off_tpot_seconds / self.on_tpot_seconds,
                "ratio",
                "time per output token of the control group / with speculation",
            ),
        )

    def _compared(self) -> tuple[Step, ...]:
        """Return what makes set-ups with different numbers of drafts comparable."""
        drafts = dict(self.draft_tokens_by_group)
        rates: dict[str, StepValue] = {}
        raw: dict[str, StepValue] = {}
        for group, accepted in self.accepted_per_step_by_group:
            if group in drafts:
                took = min(accepted, drafts[group])
                rates[group] = acceptance_from_length(took, drafts[group])
                raw[group] = took / drafts[group]
        return (
            Step(
                "acceptance_by_group",
                rates,
                "ratio",
                "a, where a + a^2 + ... + a^k is accepted a step; compare it",
            ),
            Step("accepted_share_by_group", raw, "ratio", "accepted / drafted; falls with k though a is the same"),
        )


PLANNER = Planner(
    name="speculation",
    title="Speculative decoding",
    question="How many tokens to draft, and up to which batch does it pay?",
    inputs=SpeculationInputs,
    decides="tokens_per_step_in_use",
    monotone=(
        Monotone("acceptance_rate", "tokens_per_step_in_use"),
        Monotone("draft_tokens", "tokens_per_step_in_use"),
        Monotone("on_tpot_seconds", "on_off_speedup", falls=True),
    ),
)

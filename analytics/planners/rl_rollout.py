"""Plans rollout for reinforcement learning: GPUs by pipelining, weight sync; never trains or scores."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.planners.distribution import percentiles
from analytics.planners.form import Plan, PlannerInputs, Step, Verdict, named, number, whole
from analytics.planners.planner import Monotone, Planner
from analytics.planners.rollout_pipeline import NEVER_WAITS, answers_of, run_pipeline

__all__ = ["PLANNER", "RlRolloutInputs"]

_DESIGN = "reference design of rollout for a 32B reasoning policy"

_OWN = "an assumption to measure"
_LENGTHS = {
    "0": 300,
    "10": 2080,
    "25": 3390,
    "50": 5810,
    "75": 9970,
    "90": 16_200,
    "95": 21_700,
    "99": 32_000,
    "100": 32_768,
}
#: Steps that generation may run ahead of training.
_MODES = {"sync": 0, "one_step_async": 1, "full_async": NEVER_WAITS}


@dataclass(frozen=True, slots=True)
class RlRolloutInputs(PlannerInputs):
    """One training step's samples, the generation rate and the weights to push."""

    prompts_per_step: int = whole(128, "prompts", 1, 1_000_000, "Prompts of one training step.", _DESIGN)
    samples_per_prompt: int = whole(16, "samples", 1, 10_000, "Answers sampled for each prompt.", _DESIGN)
    mean_output_tokens: float = number(8000, "tokens", 1, 1e7, "Mean answer length.", _DESIGN)
    train_step_seconds: float = number(300, "s", 0.1, 1e6, "Time of one training step.", _DESIGN)
    tokens_per_gpu_second: float = number(
        2500, "tokens/s", 0.1, 1e7, "Tokens that one GPU generates with a full batch.", _DESIGN
    )
    sync_utilisation: float = number(
        0.3, "ratio", 0.001, 1, "Share of that rate kept when all wait for the longest.", _DESIGN
    )
    async_utilisation: float = number(0.9, "ratio", 0.001, 1, "Share kept when generation never waits.", _DESIGN)
    weight_bytes: float = number(32e9, "bytes", 1, 1e14, "Weights pushed after each step.", "32B in FP8")
    sync_bytes_per_second: float = number(400e9, "bytes/s", 1e3, 1e14, "Rate of the weight push.", "8 x 50 GB/s")
    output_tokens_at: tuple[tuple[str, float], ...] = named(
        _LENGTHS, "tokens", 1, 1e7, "Answer length by percentile.", "log-normal around a mean of 8,000, cut at 32,768"
    )
    scoring_seconds: float = number(5, "s", 0, 1e5, "Time to score one answer.", _OWN)
    scoring_timeout_ratio: float = number(0.02, "ratio", 0, 1, "Answers whose scoring times out.", _OWN)
    observed_staleness_steps: float = number(3, "steps", 0, 1e5, "Mean age of samples as trained on.", _OWN)
    staleness_cap_steps: int = whole(4, "steps", 0, 1000, "Oldest weights that a sample may come from.", _OWN)

    def plan(self) -> Plan:
        """Return rollout GPUs in step with training."""
        tokens = self.prompts_per_step * self.samples_per_prompt * self.mean_output_tokens
        needed = tokens / (self.tokens_per_gpu_second * self.train_step_seconds)
        sync_gpus = needed / self.sync_utilisation
        async_gpus = needed / self.async_utilisation
        push = self.weight_bytes / self.sync_bytes_per_second
        steps = (
            Step("output_tokens_per_step", tokens, "tokens", "prompts x samples x mean answer"),
            Step("sync_gpus", sync_gpus, "GPUs", "tokens / (rate x synchronous utilisation x training step)"),
            Step("async_gpus", async_gpus, "GPUs", "tokens / (rate x asynchronous utilisation x training step)"),
            Step("weight_sync_seconds", push, "s", "weights / push rate"),
        )
        verdicts: tuple[Verdict, ...] = (
            Verdict(
                "the weight push is small beside a training step",
                push < 0.05 * self.train_step_seconds,
                f"{push:.2f} s against {self.train_step_seconds:g} s",
            ),
        )
        tail, oldest = self._tail(needed)
        verdicts += (
            Verdict(
                "asynchronous samples stay within the staleness cap",
                oldest <= self.staleness_cap_steps,
                f"the oldest is {oldest:.3g} updates old with scoring, the cap is {self.staleness_cap_steps}",
            ),
            Verdict(
                "samples as trained on are within the staleness cap",
                self.observed_staleness_steps <= self.staleness_cap_steps,
                f"{self.observed_staleness_steps:.3g} updates old on average, the cap is {self.staleness_cap_steps}",
            ),
            Verdict(
                "scoring keeps up with training",
                self.scoring_seconds < self.train_step_seconds,
                f"{self.scoring_seconds:g} s an answer, pipelined, against {self.train_step_seconds:g} s a step",
            ),
        )
        headline = (
            f"{tokens / 1e6:.1f}M tokens a step: {sync_gpus:.0f} GPUs synchronously, "
            f"{async_gpus:.0f} asynchronously; pushing weights takes {push:.2f} s"
        )
        return Plan(PLANNER.name, self, steps + tail, verdicts, headline)

    def _tail(self, needed: float) -> tuple[tuple[Step, ...], float]:
        """Return utilisation, GPUs and staleness by pipelining from the lengths, and the oldest sample's age."""
        samples = self.prompts_per_step * self.samples_per_prompt
        lengths = percentiles(self.output_tokens_at)
        answers = answers_of(lengths, samples)
        runs = {mode: run_pipeline(answers, ahead) for mode, ahead in _MODES.items()}
        scoring = self.scoring_seconds / self.train_step_seconds
        oldest = runs["full_async"].staleness_max_steps + scoring
        steps = (
            Step("longest_output_tokens", lengths.largest_of(samples), "tokens", "expected longest answer of a step"),
            Step(
                "tail_utilisation",
                {mode: run.utilisation for mode, run in runs.items()},
                "ratio",
                "steps run through slots: time generating / time, waiting for the longest as the mode demands",
            ),
            Step(
                "tail_gpus",
                {mode: needed / run.utilisation for mode, run in runs.items()},
                "GPUs",
                "tokens / (rate x that utilisation x training step)",
            ),
            Step(
                "staleness_mean_steps",
                {mode: run.staleness_mean_steps + scoring for mode, run in runs.items()},
                "steps",
                "weight updates from a sample's start to its use, and scoring seconds / training step",
            ),
            Step(
                "staleness_max_steps",
                {mode: run.staleness_max_steps + scoring for mode, run in runs.items()},
                "steps",
                "the same for the oldest sample",
            ),
            Step("scoring_workers", samples * scoring, "workers", "samples x scoring seconds / training step"),
            Step("samples_lost_per_step", samples * self.scoring_timeout_ratio, "samples", "samples x time-outs"),
        )
        return steps, oldest


PLANNER = Planner(
    name="rl_rollout",
    title="Rollout for reinforcement learning",
    question="How many GPUs keep rollout in step with training?",
    inputs=RlRolloutInputs,
    decides="sync_gpus",
    monotone=(
        Monotone("mean_output_tokens", "sync_gpus"),
        Monotone("sync_utilisation", "sync_gpus", falls=True),
        Monotone("train_step_seconds", "async_gpus", falls=True),
        Monotone("weight_bytes", "weight_sync_seconds"),
    ),
)

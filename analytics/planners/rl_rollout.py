"""Plans rollout for reinforcement learning: GPUs by pipelining, weight sync; never trains or scores."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.planners.form import Plan, PlannerInputs, Step, Verdict, number, whole
from analytics.planners.planner import Monotone, Planner

__all__ = ["PLANNER", "RlRolloutInputs"]

_DESIGN = "reference design of rollout for a 32B reasoning policy"


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
        verdicts = (
            Verdict(
                "the weight push is small beside a training step",
                push < 0.05 * self.train_step_seconds,
                f"{push:.2f} s against {self.train_step_seconds:g} s",
            ),
        )
        headline = (
            f"{tokens / 1e6:.1f}M tokens a step: {sync_gpus:.0f} GPUs synchronously, "
            f"{async_gpus:.0f} asynchronously; pushing weights takes {push:.2f} s"
        )
        return Plan(PLANNER.name, self, steps, verdicts, headline)


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

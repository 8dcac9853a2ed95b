"""Speed-up of speculation in a batch, from how a step's time grows with its tokens; never times a step itself.

A step over n tokens takes base + n x per_token seconds. Speculating with k drafts in a batch of b runs one step over
b x (k + 1) tokens and k draft passes, each `draft_cost_ratio` of a plain step.
"""

from __future__ import annotations

from dataclasses import dataclass

from analytics.planners.acceptance import tokens_per_step

__all__ = ["StepTime"]


@dataclass(frozen=True, slots=True)
class StepTime:
    """A linear step time and what drafting costs."""

    base_seconds: float
    seconds_per_token: float
    draft_cost_ratio: float

    def plain(self, batch: float) -> float:
        """Return seconds of a step without speculation."""
        return self.base_seconds + self.seconds_per_token * batch

    def drafted(self, batch: float, drafts: int) -> float:
        """Return seconds of a step with `drafts` draft tokens per request."""
        verify = self.base_seconds + self.seconds_per_token * batch * (drafts + 1)
        return verify + drafts * self.draft_cost_ratio * self.plain(batch)

    def speedup(self, batch: float, acceptance: float, drafts: int) -> float:
        """Return tokens a second with speculation over without, for one request; above 1 it pays."""
        return tokens_per_step(acceptance, drafts) * self.plain(batch) / self.drafted(batch, drafts)

    def best_drafts(self, batch: float, acceptance: float, most: int) -> int:
        """Return the best number of drafts from 0 (off) to `most`."""
        return max(range(most + 1), key=lambda drafts: self.speedup(batch, acceptance, drafts))

    def break_even_acceptance(self, batch: float, drafts: int) -> float | None:
        """Return the acceptance at which `drafts` drafts neither help nor harm; None where even 1 does not help."""
        if self.speedup(batch, 1.0, drafts) < 1:
            return None
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (low, middle) if self.speedup(batch, middle, drafts) >= 1 else (middle, high)
        return high

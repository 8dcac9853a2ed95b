"""The arithmetic of accepted drafts: tokens per step, speed-up, best count, and the rate behind a length; no batches.

With independent acceptance a, k drafts advance 1 + a + ... + a^k tokens (Leviathan, Kalman, Matias: "Fast Inference
from Transformers via Speculative Decoding", 2023, equation 1).
"""

from __future__ import annotations

__all__ = ["acceptance_from_length", "best_drafts", "speedup", "tokens_per_step"]


def tokens_per_step(acceptance: float, drafts: int) -> float:
    """Return the expected tokens one step advances, the model's own token included.

    >>> round(tokens_per_step(0.6, 4), 2)
    2.31
    """
    return float(drafts + 1) if acceptance >= 1 else (1 - acceptance ** (drafts + 1)) / (1 - acceptance)


def speedup(acceptance: float, drafts: int, draft_cost_ratio: float) -> float:
    """Return tokens per step over the step's cost, in plain decode steps, where verifying is free."""
    return tokens_per_step(acceptance, drafts) / (1 + drafts * draft_cost_ratio)


def best_drafts(acceptance: float, draft_cost_ratio: float, most: int) -> int:
    """Return the number of drafts from 1 to `most` with the highest speed-up."""
    return max(range(1, most + 1), key=lambda drafts: speedup(acceptance, drafts, draft_cost_ratio))


def acceptance_from_length(accepted_per_draft: float, drafts: float) -> float:
    """Return the per-token acceptance a with a + a^2 + ... + a^k = `accepted_per_draft`; k may be fractional.

    This is what makes groups with different k comparable: accepted / drafted falls with k even where a is the same.

    >>> round(acceptance_from_length(0.8 + 0.64 + 0.512, 3), 6)
    0.8
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _accepted(middle, drafts) < accepted_per_draft:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _accepted(acceptance: float, drafts: float) -> float:
    if acceptance >= 1:
        return drafts
    return float(acceptance * (1 - acceptance**drafts) / (1 - acceptance))

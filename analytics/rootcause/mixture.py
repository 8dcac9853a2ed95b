"""Splits a rise of bad events into mix, within and volume, safe against Simpson's paradox; never searches segments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.rootcause.expectation import baseline_rate
from analytics.rootcause.leaves import Leaves


@dataclass(frozen=True, slots=True)
class Mixture:
    """Bad events beyond the baseline, in events: `mix + within + volume` = bad during - bad before (per same time)."""

    mix: float
    within: float
    volume: float
    volume_ratio: float

    @property
    def mix_share(self) -> float:
        """Return mix / (mix + within), 0 where the mix did not add bad events."""
        both = max(self.mix, 0.0) + max(self.within, 0.0)
        return max(self.mix, 0.0) / both if both > 0 else 0.0


def split(leaves: Leaves, seconds_before: float, seconds_during: float) -> Mixture:
    """Split the rise at leaf level: E = Σ n_during · r; mix = E - N_during · R; within = bad_during - E.

    `volume` is what more (or fewer) of the same requests would have added at the old rate, over `seconds_during`.
    """
    rate = baseline_rate(leaves)
    total_before, total_during = leaves.n_before.sum(), leaves.n_during.sum()
    overall = float((leaves.n_before * rate).sum() / total_before) if total_before > 0 else float(np.mean(rate))
    expected = float((leaves.n_during * rate).sum())
    usual = total_before * seconds_during / seconds_before if seconds_before > 0 else total_during
    return Mixture(
        mix=expected - float(total_during) * overall,
        within=float(leaves.bad_during.sum()) - expected,
        volume=float(total_during - usual) * overall,
        volume_ratio=float(total_during / usual) if usual > 0 else float("nan"),
    )

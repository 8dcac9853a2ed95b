"""Runs rollout steps through slots to see how the longest answers hold them up; simulates, never generates.

A step's samples may start once the step `ahead` + 1 before it is complete: 0 is synchronous, 1 is one step
asynchronous, a large number never waits. A free slot takes the next sample in order (list scheduling).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from analytics.planners.distribution import Distribution

__all__ = ["NEVER_WAITS", "Pipeline", "answers_of", "run_pipeline"]

#: More steps ahead than a run simulates.
NEVER_WAITS = 1_000
#: Samples simulated per step; the longest of the real number is put among them.
_SAMPLES = 64
_STEPS = 9
_WARM_UP = 3


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Share of slot time spent generating, and how many updates old samples are when their step is trained on."""

    utilisation: float
    staleness_mean_steps: float
    staleness_max_steps: float


def run_pipeline(tokens: list[float], ahead: int) -> Pipeline:
    """Return utilisation and staleness when each step has answers of these lengths (see `answers_of`)."""
    order = np.random.default_rng(5).permutation(tokens).tolist()
    slots = [0.0] * len(tokens)
    done: list[float] = []
    ages: list[float] = []
    oldest = 0.0
    for step in range(_STEPS):
        release = 0.0 if step - 1 - ahead < 0 else done[step - 1 - ahead]
        starts = []
        finish = 0.0
        for length in order:
            start = max(heapq.heappop(slots), release)
            starts.append(start)
            heapq.heappush(slots, start + length)
            finish = max(finish, start + length)
        done.append(max(finish, done[-1] if done else 0.0))
        if step >= _WARM_UP:
            updates = step - np.searchsorted(done[:step], starts, side="right")
            ages.append(float(np.mean(updates)))
            oldest = max(oldest, float(np.max(updates)))
    period = (done[-1] - done[_WARM_UP - 1]) / (_STEPS - _WARM_UP)
    busy = sum(tokens) / len(tokens)
    return Pipeline(min(1.0, busy / period) if period > 0 else 1.0, float(np.mean(ages)), oldest)


def answers_of(lengths: Distribution, samples: int) -> list[float]:
    """Return answer lengths spread over the distribution, the expected longest of `samples` among them."""
    count = max(2, min(samples, _SAMPLES))
    spread = lengths.quantile((np.arange(count) + 0.5) / count)
    spread[-1] = lengths.largest_of(samples)
    return [float(length) for length in np.maximum(spread, 1e-9)]

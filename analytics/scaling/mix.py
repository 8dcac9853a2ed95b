"""Weighs a mix of request lengths against another by the tokens they cost; knows neither rates nor instances.

A request's work is its computed prompt tokens plus its output tokens, each of these counted several times: decode reads
weights and KV once per step for one token a request, prefill shares that read among hundreds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Work of one output token in computed prompt tokens. Four is the ratio of the seeds' measured rates; it depends on
#: model and batch, so the interval goes from one to eight.
DECODE_WEIGHT = 4.0
DECODE_RANGE = (1.0, 8.0)
#: Requests of known length that a bucket needs before it says what it costs.
ENOUGH_REQUESTS = 30
#: Buckets below this share of both mixes are left out.
LEAST_SHARE = 0.02
#: A change by less is not worth a correction: the frontier itself is not known better.
LEAST_CHANGE = 0.05
#: A change of the mean work counts beyond this many standard errors of it.
SCATTERS = 3.0
#: No mix moves capacity by more than this factor either way in one decision.
LARGEST_FACTOR = 4.0


@dataclass(frozen=True, slots=True)
class Bucket:
    """One length bucket: tokens per request, its share of requests when capacity was learned and at the horizon."""

    name: str
    requests: int
    computed_tokens: float
    output_tokens: float
    learned_share: float
    horizon_share: float


@dataclass(frozen=True, slots=True)
class Mix:
    """What one instance serves at the horizon's mix, over what it serves at the mix that capacity was learned at.

    Where `applied` is False capacity stays pool-wide and `because` says why. `work` is a bucket's work per request over
    that of the learned mix.
    """

    factor: float
    low: float
    high: float
    applied: bool
    because: str
    buckets: tuple[Bucket, ...] = ()
    work: tuple[float, ...] = ()

    @property
    def planned(self) -> float:
        """The factor that is planned with: what is lost in all likelihood, what is gained only as far as it is sure."""
        return (self.factor if self.factor < 1 else self.low) if self.applied else 1.0


def mix_of(buckets: Sequence[Bucket], newest: float = inf) -> Mix:
    """Return how the mix at the horizon changes capacity; not applied where lengths say too little.

    `newest` is the number of requests that the mix at the horizon rests on: a change must stand out of their scatter.
    """
    kept = [one for one in buckets if max(one.learned_share, one.horizon_share) >= LEAST_SHARE]
    if not kept:
        return Mix(1.0, 1.0, 1.0, False, "pool-wide: no lengths of requests are known")
    few = [one.name for one in kept if one.requests < ENOUGH_REQUESTS]
    if few:
        return Mix(1.0, 1.0, 1.0, False, f"pool-wide: fewer than {ENOUGH_REQUESTS} requests in {', '.join(few)}")
    learned = _shares([one.learned_share for one in kept])
    later = _shares([one.horizon_share for one in kept])
    if learned is None or later is None:
        return Mix(1.0, 1.0, 1.0, False, "pool-wide: one of the mixes is unknown")

    def factor(weight: float) -> float:
        work = np.array([one.computed_tokens + weight * one.output_tokens for one in kept])
        return float(learned @ work / (later @ work))

    work = np.array([one.computed_tokens + DECODE_WEIGHT * one.output_tokens for one in kept])
    if not np.isfinite(work).all() or (work <= 0).any():
        return Mix(1.0, 1.0, 1.0, False, "pool-wide: tokens of some requests are unknown")
    middle, ends = factor(DECODE_WEIGHT), [factor(weight) for weight in DECODE_RANGE]
    low, high = min(middle, *ends), max(middle, *ends)
    scatter = float(np.sqrt(max(later @ work**2 - (later @ work) ** 2, 0.0) / max(newest, 1.0)))
    stands_out = abs(float(later @ work - learned @ work)) > SCATTERS * scatter
    sure = (low > 1 or high < 1) and stands_out
    applied = sure and abs(middle - 1) >= LEAST_CHANGE
    limited = [float(np.clip(value, 1 / LARGEST_FACTOR, LARGEST_FACTOR)) for value in (middle, low, high)]
    planned = limited[0] if limited[0] < 1 else limited[1]
    because = (
        f"lengths at the horizon change what one instance serves by {planned - 1:+.0%}"
        if applied
        else "pool-wide: lengths at the horizon are those that capacity was learned at"
        if abs(middle - 1) < LEAST_CHANGE
        else "pool-wide: what the lengths at the horizon cost is not sure"
    )
    per_request = tuple((work / float(learned @ work)).tolist())
    return Mix(limited[0], limited[1], limited[2], applied, because, tuple(kept), per_request)


def trend(counts: Floats, lead_steps: float) -> float:
    """Return the requests per step that a straight line through `counts` foretells, never below 0.

    A line through counts is right on average for rare requests too; medians of rare counts are not.
    """
    steps = np.arange(len(counts), dtype=np.float64)
    if len(counts) < 2:
        return float(counts.mean()) if len(counts) else 0.0
    slope, level = np.polyfit(steps, counts, 1)
    return max(0.0, float(level + slope * (len(counts) - 0.5 + lead_steps)))


def worth(requests: float, steps: int, lead_steps: float) -> float:
    """Return how many requests of one mix say as much about it as a line through `requests` does at its lead.

    The variance of a least-squares line x half-lengths from its middle is (1 + 3 x^2) times that of the mean.
    """
    return requests / (1 + 3 * (1 + 2 * lead_steps / max(steps, 1)) ** 2)


def _shares(values: Sequence[float]) -> Floats | None:
    shares = np.array(values, dtype=np.float64)
    total = float(shares.sum())
    return shares / total if np.isfinite(total) and total > 0 else None

"""Finds when bad events rose, from counts per time step; never says why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.rootcause.leaves import FloatArray

#: The log-likelihood ratio, after overdispersion, that a scanned interval must reach: with 200 steps there are 2e4
#: intervals; half a chi-square of 1 degree exceeds 12 with probability 1e-6.
SCAN_THRESHOLD = 12.0
#: A given window is one test: z of 4 leaves 3e-5.
WINDOW_Z = 4.0
#: A rise in the bad share below this factor is not worth waking anybody for.
SMALLEST_RATIO = 1.5
#: A share of tokens (cache misses, refused drafts) is high to begin with; there a tenth more counts.
SMALLEST_TOKEN_RATIO = 1.1
#: Nor is one of fewer bad events than this.
SMALLEST_EXCESS = 5.0
#: Drop of the log-likelihood ratio that bounds a 95 % interval of the onset (half of chi-square's 3.84).
ONSET_DROP = 1.92
#: An incident lasts less than this share of the record that it is looked for in.
LONGEST_SHARE = 0.75
OVERDISPERSION_BOUNDS = (1.0, 12.0)


@dataclass(frozen=True, slots=True)
class Spike:
    """An interval of steps [first, last) whose bad share rose, with the steps between which it began."""

    first: int
    last: int
    likelihood: float
    ratio: float
    onset_low: int
    onset_high: int


@dataclass(frozen=True, slots=True)
class Change:
    """One window against its baseline: shares, z with overdispersion, and whether that is a change at all."""

    share_before: float
    share_during: float
    excess: float
    z: float
    overdispersion: float
    significant: bool

    @property
    def ratio(self) -> float:
        return self.share_during / max(self.share_before, 1e-9)


def overdispersion(total: FloatArray, bad: FloatArray) -> float:
    """Return how much more the bad share varies between steps than a binomial one (Pearson χ² / degrees), >= 1."""
    used = total > 0
    if used.sum() < 4 or bad[used].sum() < 1:
        return OVERDISPERSION_BOUNDS[0]
    share = bad[used].sum() / total[used].sum()
    expected = np.maximum(total[used] * share * max(1 - share, 1e-9), 1e-9)
    # A step with hardly any expected event would give χ² a term without bound.
    residual = (bad[used] - total[used] * share) ** 2 / np.maximum(expected, 0.25)
    return float(np.clip(residual.sum() / (used.sum() - 1), *OVERDISPERSION_BOUNDS))


def compare(
    before: tuple[float, float], during: tuple[float, float], dispersion: float, smallest_ratio: float = SMALLEST_RATIO
) -> Change:
    """Test (total, bad) before against during by a two-proportion z with overdispersion."""
    n0, b0 = before
    n1, b1 = during
    p0 = (b0 + 0.5) / (n0 + 1.0)
    p1 = b1 / n1 if n1 > 0 else 0.0
    pooled = (b0 + b1 + 0.5) / (n0 + n1 + 1.0)
    variance = dispersion * pooled * (1 - pooled) * (1 / max(n0, 1.0) + 1 / max(n1, 1.0))
    z = (p1 - p0) / np.sqrt(max(variance, 1e-12))
    excess = b1 - n1 * p0
    strong = z >= WINDOW_Z and p1 >= smallest_ratio * p0 and excess >= SMALLEST_EXCESS
    return Change(p0, p1, excess, float(z), dispersion, bool(strong))


def scan(
    total: FloatArray,
    bad: FloatArray,
    dispersion: float,
    within: tuple[int, int] | None = None,
    smallest_ratio: float = SMALLEST_RATIO,
    usual: float = np.inf,
) -> Spike | None:
    """Return the interval of steps whose bad share rose most significantly, or None; `within` bounds the search.

    A share is large by the rest of the record, or by the `usual` one where that is lower: of two incidents each is
    part of the other's rest, and neither would stand out.
    """
    low, high = within or (0, len(total))
    n, b = np.concatenate([[0.0], np.cumsum(total)]), np.concatenate([[0.0], np.cumsum(bad)])
    starts, ends = np.arange(low, high), np.arange(low + 1, high + 1)
    if not len(starts):
        return None
    n1 = n[ends][None, :] - n[starts][:, None]
    b1 = b[ends][None, :] - b[starts][:, None]
    n0, b0 = n[-1] - n1, b[-1] - b1
    ratio = _likelihood(n1, b1, n0, b0) / dispersion
    p1, rest = b1 / np.maximum(n1, 1.0), (b0 + 0.5) / (n0 + 1.0)
    p0 = np.minimum(rest, usual)
    allowed = (ends[None, :] > starts[:, None]) & (p1 >= smallest_ratio * p0) & (b1 - n1 * p0 >= SMALLEST_EXCESS)
    allowed &= p1 > rest  # what is calmer than the rest differs from it as well, and is no incident
    # An incident is the exception in time: what fills most of the record is the record's own level.
    length = ends[None, :] - starts[:, None]
    ratio = np.where(allowed & (length < LONGEST_SHARE * len(total)), ratio, -np.inf)
    row, column = divmod(int(np.argmax(ratio)), ratio.shape[1])
    if ratio[row, column] < SCAN_THRESHOLD:
        return None
    near = np.flatnonzero(ratio[:, column] >= ratio[row, column] - ONSET_DROP)
    return Spike(
        int(starts[row]),
        int(ends[column]),
        float(ratio[row, column]),
        float(p1[row, column] / p0[row, column]),
        int(starts[near[0]]),
        int(starts[near[-1]]),
    )


def spikes(
    total: FloatArray,
    bad: FloatArray,
    dispersion: float,
    within: tuple[int, int] | None = None,
    smallest_ratio: float = SMALLEST_RATIO,
    usual: float = np.inf,
    most: int = 5,
) -> list[Spike]:
    """Return separate intervals whose bad share rose, the most significant first; each is taken out before the next."""
    total, bad = total.copy(), bad.copy()
    found: list[Spike] = []
    while len(found) < most:
        spike = scan(total, bad, dispersion, within, smallest_ratio, usual)
        if spike is None:
            break
        found.append(spike)
        total[spike.first : spike.last] = 0.0
        bad[spike.first : spike.last] = 0.0
    return found


def _likelihood(n1: FloatArray, b1: FloatArray, n0: FloatArray, b0: FloatArray) -> FloatArray:
    """Return the binomial log-likelihood ratio of two shares against one."""
    both: FloatArray = _fit(n1, b1) + _fit(n0, b0) - _fit(n1 + n0, b1 + b0)
    return both


def _fit(n: FloatArray, b: FloatArray) -> FloatArray:
    n = np.maximum(n, 1e-9)
    share = np.clip(b / n, 1e-9, 1 - 1e-9)
    fit: FloatArray = b * np.log(share) + np.maximum(n - b, 0.0) * np.log1p(-share)
    return fit

"""Estimates with intervals from sums by block of time; takes arrays, returns an Estimate or None, never reads a store.

Blocks of time keep what neighbours in time share (bursts, sessions), so intervals from the spread between blocks stay
honest where requests are not independent. All intervals are at CONFIDENCE.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from analytics.planners.form import Estimate

__all__ = [
    "CONFIDENCE",
    "exactly",
    "largest_rate",
    "largest_share",
    "line",
    "mean_of",
    "poisson_rate",
    "ratio_of_sums",
    "share_of",
    "t_quantile",
]

Floats = npt.NDArray[np.float64]
#: Probability that an interval holds the truth. Above the usual 0.95: a plan reads several inputs at once.
CONFIDENCE = 0.99
_LEAST_BLOCKS = 8


def t_quantile(level: float, freedom: float) -> float:
    """Return the quantile of Student's t by its expansion in 1/freedom (Abramowitz and Stegun 26.7.5).

    >>> round(t_quantile(0.995, 30), 2)
    2.75
    """
    z = NormalDist().inv_cdf(level)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / freedom ** (power + 1) for power, term in enumerate(terms)))


def ratio_of_sums(top: Floats, bottom: Floats, basis: str) -> Estimate | None:
    """Return Σ top / Σ bottom with the interval of the linearised ratio over blocks (NaN where a block lacks one)."""
    held = np.isfinite(top) & np.isfinite(bottom) & (bottom > 0)
    tops, bottoms = top[held], bottom[held]
    count = len(tops)
    if count < _LEAST_BLOCKS or bottoms.sum() <= 0:
        return None
    value = float(tops.sum() / bottoms.sum())
    residuals = tops - value * bottoms
    error = sqrt(count / (count - 1) * float(np.sum(residuals**2))) / float(bottoms.sum())
    return _around(value, error, count - 1, basis)


def mean_of(values: Floats, basis: str) -> Estimate | None:
    """Return the mean of independent values with its t interval."""
    held = values[np.isfinite(values)]
    if len(held) < 2:
        return None
    error = float(held.std(ddof=1)) / sqrt(len(held))
    return _around(float(held.mean()), error, len(held) - 1, basis)


def exactly(value: float, basis: str) -> Estimate:
    """Return what is known as a fact, not estimated: its interval is the value."""
    return Estimate(value, value, value, basis)


def share_of(part: float, whole: float, basis: str, confidence: float = CONFIDENCE) -> Estimate | None:
    """Return part / whole with Wilson's score interval (Wilson 1927)."""
    if whole <= 0:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = part / whole
    centre = (share + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z * sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole)) / (1 + z * z / whole)
    return Estimate(share, max(0.0, centre - half), min(1.0, centre + half), basis)


def poisson_rate(count: float, exposure: float, basis: str, confidence: float = CONFIDENCE) -> Estimate | None:
    """Return count / exposure with an exact-style interval (Wilson and Hilferty's approximation of chi-square)."""
    if exposure <= 0:
        return None
    low, high = _poisson_bounds(count, (1 - confidence) / 2, (1 - confidence) / 2)
    return Estimate(count / exposure, low / exposure, high / exposure, basis)


def largest_rate(counts: Floats, seconds: float, basis: str) -> Estimate | None:
    """Return the highest arrival rate among equal windows.

    The interval holds the highest true rate: the highest upper bound covers it, and so does the highest lower bound
    once each is lowered for being the best of as many (Bonferroni).
    """
    if len(counts) == 0 or seconds <= 0:
        return None
    tail = (1 - CONFIDENCE) / 2
    lows, highs = zip(*(_poisson_bounds(float(each), tail / len(counts), tail) for each in counts), strict=True)
    return Estimate(float(counts.max()) / seconds, max(lows) / seconds, max(highs) / seconds, basis)


def largest_share(counts: Floats, basis: str) -> Estimate | None:
    """Return the largest share that one of several takes, over the even share, with the interval of `largest_rate`."""
    whole = float(counts.sum())
    if whole <= 0:
        return None
    number = len(counts)
    tail = 1 - CONFIDENCE
    shares = [share_of(float(each), whole, basis, 1 - tail / number) for each in counts]
    uppers = [share_of(float(each), whole, basis) for each in counts]
    low = max(each.low for each in shares if each is not None and each.low is not None)
    high = max(each.high for each in uppers if each is not None and each.high is not None)
    return Estimate(float(counts.max()) / whole * number, low * number, high * number, basis)


def line(x: Floats, y: Floats, weights: Floats, basis: str) -> tuple[Estimate, Estimate] | None:
    """Return (intercept, slope) of y = intercept + slope x by weighted least squares; errors allow unequal spread."""
    held = np.isfinite(x) & np.isfinite(y) & np.isfinite(weights) & (weights > 0)
    if held.sum() < _LEAST_BLOCKS or np.ptp(x[held]) <= 0:
        return None
    design = np.column_stack([np.ones(int(held.sum())), x[held]])
    weight = weights[held] / weights[held].mean()
    inverse = np.linalg.inv(design.T @ (design * weight[:, None]))
    fitted = inverse @ (design.T @ (weight * y[held]))
    scores = design * (weight * (y[held] - design @ fitted))[:, None]
    freedom = len(design) - 2
    spread = inverse @ (scores.T @ scores) @ inverse * len(design) / freedom
    intercept, slope = (
        _around(float(fitted[place]), sqrt(max(0.0, float(spread[place, place]))), freedom, basis) for place in (0, 1)
    )
    return intercept, slope


def _around(value: float, error: float, freedom: float, basis: str) -> Estimate:
    half = t_quantile((1 + CONFIDENCE) / 2, freedom) * error
    return Estimate(value, value - half, value + half, basis)


def _poisson_bounds(count: float, low_tail: float, high_tail: float) -> tuple[float, float]:
    """Return bounds of a Poisson mean after seeing `count`."""
    low = 0.0
    if count > 0:
        z = NormalDist().inv_cdf(1 - low_tail)
        low = count * (1 - 1 / (9 * count) - z / (3 * sqrt(count))) ** 3
    upper = count + 1
    high = upper * (1 - 1 / (9 * upper) + NormalDist().inv_cdf(1 - high_tail) / (3 * sqrt(upper))) ** 3
    return max(0.0, low), high

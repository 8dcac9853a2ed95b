"""Maps a latency to its logarithmic bin and back (DDSketch mapping); counts of bins merge by addition.

Masson, Rim, Lee: "DDSketch: a fast and fully-mergeable quantile sketch with relative-error guarantees", VLDB 2019.
"""

from __future__ import annotations

from math import ceil, exp, log

#: Relative error of a quantile read from bins.
ALPHA = 0.01
GAMMA = (1 + ALPHA) / (1 - ALPHA)
LN_GAMMA = log(GAMMA)
#: Bin of an exact zero (and of values below a nanosecond); below every logarithmic bin that a latency can have.
ZERO_BIN = -2_000


def bin_of(seconds: float) -> int:
    """Return k = ceil(ln v / ln γ), so that γ^(k-1) < v <= γ^k; zero has its own bin."""
    return ceil(log(seconds) / LN_GAMMA) if seconds > 1e-9 else ZERO_BIN


def bin_value(k: int) -> float:
    """Return the value that is within ALPHA of everything in bin `k`: 2 γ^k / (γ + 1) seconds."""
    return 0.0 if k <= ZERO_BIN else 2 * exp(k * LN_GAMMA) / (GAMMA + 1)


def bin_edges(k: int) -> tuple[float, float]:
    """Return the (exclusive lower, inclusive upper) edge of bin `k` in seconds."""
    return (0.0, 0.0) if k <= ZERO_BIN else (exp((k - 1) * LN_GAMMA), exp(k * LN_GAMMA))

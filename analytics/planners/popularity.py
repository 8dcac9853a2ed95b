"""Distinct adapters in a batch, from how popular each is, with and without affinity routing; never names a tenant."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["distinct_in_batch", "distinct_with_affinity", "resident_share", "zipf"]

Floats = npt.NDArray[np.float64]


def zipf(count: int, exponent: float) -> Floats:
    """Return shares of `count` adapters, most popular first: rank^-exponent, summing to 1."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / weights.sum())


def distinct_in_batch(shares: Floats, batch: float) -> float:
    """Return the expected distinct adapters among `batch` independent requests: Σ 1 - (1 - p)^batch."""
    with np.errstate(divide="ignore"):
        missing = np.exp(batch * np.log1p(-np.minimum(shares, 1.0)))
    return float(np.sum(1 - missing))


def distinct_with_affinity(shares: Floats, batch: float, instances: int) -> float:
    """Return the mean distinct adapters per batch when each adapter has one home among `instances`.

    Adapters are dealt in order of popularity, so homes get similar load; each instance fills its own batch.
    """
    homes = min(instances, len(shares))
    padded = np.zeros(-(-len(shares) // homes) * homes)
    padded[: len(shares)] = shares
    dealt = padded.reshape(-1, homes)
    load = dealt.sum(axis=0)
    within = dealt / np.where(load > 0, load, 1)
    with np.errstate(divide="ignore"):
        missing = np.exp(batch * np.log1p(-np.minimum(within, 1.0)))
    return float(np.sum((1 - missing).sum(axis=0) * load))


def resident_share(shares: Floats, resident: int) -> float:
    """Return the share of requests whose adapter is among the `resident` most popular."""
    return float(min(1.0, shares[: max(0, resident)].sum()))

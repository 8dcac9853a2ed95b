"""Quantiles of scraped histograms as certain intervals between the engines' own edges; never interpolates.

Instances may have unequal edges. Every observation in (lo, hi] is at least its lo and at most its hi, so the r-th
smallest lies between the r-th smallest lo and the r-th smallest hi: with equal edges that is the bucket itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from analytics.slo.quantile import Quantile, is_unresolved, rank

Floats = npt.NDArray[np.float64]


def quantiles_of_edges(
    edge_lo: Floats, edge_hi: Floats, counts: npt.NDArray[np.number], qs: Iterable[float], *, widen_ranks: int = 0
) -> tuple[Quantile, ...]:
    """Return the interval of each quantile of merged histograms: one row per instance, interval and bucket.

    `edge_hi` NaN or inf = above the last edge. `widen_ranks` = 1 takes the lower bound one rank lower and the upper
    bound one rank higher, for pages that hold one observation more or less than the records beside them. `value` is
    the upper end where the interval is resolved, else None.
    """
    kept = counts > 0
    low_edges = edge_lo[kept]
    high_edges = np.where(np.isnan(edge_hi[kept]), inf, edge_hi[kept])
    weights = np.asarray(counts[kept], dtype=np.int64)
    count = int(weights.sum())
    if not count:
        return tuple(Quantile(q, 0, None, None, None) for q in qs)
    lows, highs = _Ranked.of(low_edges, weights), _Ranked.of(high_edges, weights)
    found = []
    for q in qs:
        place = rank(count, q)
        low = lows.at(max(1, place - widen_ranks))
        high: float | None = highs.at(min(count, place + widen_ranks))
        if high == inf:
            high = None
        resolved = not is_unresolved(low, high)
        found.append(Quantile(q, count, high if resolved else None, low, high, resolved))
    return tuple(found)


def share_within(edge_lo: Floats, edge_hi: Floats, counts: npt.NDArray[np.number], limit: float) -> tuple[int, int]:
    """Return (observations surely at most `limit`, observations surely above it); the rest straddle the limit.

    Both add up to everything exactly when `limit` is an edge of every instance.
    """
    high = np.where(np.isnan(edge_hi), inf, edge_hi)
    within = int(counts[high <= limit * (1 + 1e-12)].sum())
    above = int(counts[edge_lo >= limit * (1 - 1e-12)].sum())
    return within, above


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Values in order with cumulative weights."""

    values: Floats
    cumulative: npt.NDArray[np.int64]

    @classmethod
    def of(cls, values: Floats, weights: npt.NDArray[np.int64]) -> _Ranked:
        order = np.argsort(values, kind="stable")
        return cls(values[order], np.cumsum(weights[order]))

    def at(self, place: int) -> float:
        return float(self.values[np.searchsorted(self.cumulative, place)])

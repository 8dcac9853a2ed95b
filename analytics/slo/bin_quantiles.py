"""Quantiles from logarithmic latency bins (signals.bins), within 1 % of the recorded value; reads no store.

Bins of any shards and instances merge by adding counts; quantiles are never averaged.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from analytics.slo.quantile import Quantile, confidence_ranks, rank
from signals.bins import bin_edges, bin_value


def merge_bins(
    bins: npt.NDArray[np.integer], counts: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return (bins ascending, summed counts), empty bins dropped; counts may be signed (late rows append)."""
    names, places = np.unique(np.asarray(bins, dtype=np.int64), return_inverse=True)
    summed = np.zeros(len(names), dtype=np.int64)
    np.add.at(summed, places, np.asarray(counts, dtype=np.int64))
    kept = summed > 0
    return names[kept], summed[kept]


def quantiles_of_bins(
    bins: npt.NDArray[np.integer], counts: npt.NDArray[np.integer], qs: Iterable[float]
) -> tuple[Quantile, ...]:
    """Return quantiles of binned latencies (seconds); intervals span the bins of the 95 % order statistics."""
    names, summed = merge_bins(bins, counts)
    cumulative = np.cumsum(summed)
    count = int(cumulative[-1]) if len(cumulative) else 0

    def bin_at(place: int) -> int:
        return int(names[np.searchsorted(cumulative, place)])

    found = []
    for q in qs:
        if not count:
            found.append(Quantile(q, 0, None, None, None))
            continue
        low, high = confidence_ranks(count, q)
        found.append(
            Quantile(
                q,
                count,
                bin_value(bin_at(rank(count, q))),
                None if low is None else bin_edges(bin_at(low))[0],
                None if high is None else bin_edges(bin_at(high))[1],
            )
        )
    return tuple(found)

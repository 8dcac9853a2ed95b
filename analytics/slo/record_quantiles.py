"""Exact quantiles of recorded latencies; estimates and interpolates nothing."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from analytics.slo.quantile import Quantile, confidence_ranks, rank


def quantiles_of_records(values: npt.NDArray[np.float64], qs: Iterable[float]) -> tuple[Quantile, ...]:
    """Return quantiles of `values` (seconds; NaN = missing, left out) with 95 % order-statistic intervals.

    >>> [found.value for found in quantiles_of_records(np.array([3.0, 1.0, 2.0, np.nan]), (0.5, 0.99))]
    [2.0, 3.0]
    """
    known = values[~np.isnan(values)]
    count = len(known)
    if not count:
        return tuple(Quantile(q, 0, None, None, None) for q in qs)
    wanted = [(q, rank(count, q), *confidence_ranks(count, q)) for q in qs]
    places = {place for row in wanted for place in row[1:] if place is not None}
    ordered = np.partition(known, sorted(place - 1 for place in places))

    def at(place: int | None) -> float | None:
        return None if place is None else float(ordered[place - 1])

    return tuple(Quantile(q, count, at(here), at(low), at(high)) for q, here, low, high in wanted)

"""Gives a new tenant a past: the fleet's curve at the tenant's level; never touches what the tenant itself did."""

from __future__ import annotations

import numpy as np

from analytics.forecast.history import FloatArray

#: The overlap, in steps, that says by itself what share of the fleet the tenant is.
LEAST_OVERLAP = 3


def with_borrowed_past(own: FloatArray, fleet: FloatArray) -> FloatArray:
    """Return `own` with the steps before its first value filled by `fleet` times the tenant's share since then.

    Both are on the same steps; NaN is missing. Without enough overlap, or a fleet that says nothing, `own` comes back.
    """
    seen = np.flatnonzero(np.isfinite(own) & (own > 0))
    if len(seen) == 0 or len(own) != len(fleet):
        return own
    first = int(seen[0])
    both = np.isfinite(own[first:]) & np.isfinite(fleet[first:])
    base = float(fleet[first:][both].sum())
    if both.sum() < LEAST_OVERLAP or base <= 0:
        return own
    filled = own.copy()
    filled[:first] = fleet[:first] * float(own[first:][both].sum()) / base
    return filled

"""Moves a number of replicas out of the band that an HPA ignores; for those who cannot set its tolerance to zero."""

from __future__ import annotations

from math import ceil, floor

#: An HPA does nothing while |wanted / current - 1| is within this (its default tolerance).
TOLERANCE = 0.1


def quantised(current: int, wanted: int, tolerance: float = TOLERANCE) -> int:
    """Return a number that an HPA acts on: growth is rounded up past the band, shrinking within it is put off.

    With 20 replicas an HPA ignores 21 and 22, so a wish for 21 becomes 23; a wish for 19 stays 20 until it is 17.

    >>> quantised(20, 21), quantised(20, 19), quantised(20, 17), quantised(5, 6)
    (23, 20, 17, 6)
    """
    if current <= 0 or wanted == current:
        return wanted
    if wanted > current:
        return max(wanted, floor(current * (1 + tolerance) + 1e-9) + 1)
    return wanted if wanted <= ceil(current * (1 - tolerance) - 1e-9) - 1 else current

"""A quantile with what is known of its error; computes none and averages none."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, inf, sqrt

#: Where the upper end is more than this many times the lower one, a quantile counts as unresolved.
UNRESOLVED_RATIO = 1.5


@dataclass(frozen=True, slots=True)
class Quantile:
    """The `q` quantile of `count` values (inverted CDF, as SQL's quantile_disc).

    `value` None: nothing was counted, or only the interval is known. `low` and `high` bound it: a 95 % confidence
    interval from records and bins, the certain bounds from a scraped histogram. `high` None = no upper bound.
    """

    q: float
    count: int
    value: float | None
    low: float | None
    high: float | None
    resolved: bool = True


def rank(count: int, q: float) -> int:
    """Return the rank (from 1) of the q quantile by inverted CDF: the smallest r with r / count >= q.

    The product is eased by 1e-9 so that 0.07 * 100 asks for the seventh value, not the eighth.

    >>> rank(350, 0.99), rank(100, 0.07), rank(1, 0.5)
    (347, 7, 1)
    """
    return min(count, max(1, ceil(q * count - 1e-9)))


def confidence_ranks(count: int, q: float, z: float = 1.96) -> tuple[int | None, int | None]:
    """Return the ranks whose order statistics bracket the true quantile with about 95 %; None = beyond the data.

    Binomial order statistics: n q -/+ z sqrt(n q (1 - q)). 100 requests cannot bound a P99 from above.

    >>> confidence_ranks(10_000, 0.99)
    (9880, 9920)
    >>> confidence_ranks(100, 0.99)
    (97, None)
    """
    half = z * sqrt(count * q * (1 - q))
    low, high = floor(count * q - half), ceil(count * q + half)
    return (low if low >= 1 else None), (high if high <= count else None)


def is_unresolved(low: float | None, high: float | None) -> bool:
    """Say whether an interval is too wide to call a value: high / low above 1.5, or an open end.

    >>> is_unresolved(2.0, 2.5), is_unresolved(1.0, 2.5), is_unresolved(0.0, 0.001), is_unresolved(5.0, None)
    (False, True, True, True)
    """
    if low is None or high is None or high == inf:
        return True
    return high > UNRESOLVED_RATIO * low

"""Walks sorted bins once and finds a quantile of every cell; compiled, knows no times and no seconds.

Import this module only where a grid is asked for: it brings numba.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Wholes = npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def walk(
    key: Wholes,
    counts: npt.NDArray[np.integer],
    bits: int,
    q: float,
    after: int,
    cells: Wholes,
    totals: Wholes,
    chosen: Wholes,
) -> int:
    """Fill `cells` (key >> bits), `totals` and the `chosen` keys, one entry a cell; return how many.

    Return -1 where keys do not ascend from `after` on, or a count is not above 0: such bins are to be put in order
    first. A rank is counted down from the top, since high quantiles are what is mostly asked.
    """
    last, here, found = after, 0, 0
    while here < len(key):
        cell, total, end = key[here] >> bits, 0, here
        while end < len(key) and key[end] >> bits == cell:
            if key[end] < last or counts[end] <= 0:
                return -1
            last = key[end]
            total += counts[end]
            end += 1
        rank = max(1, math.ceil(q * total - 1e-9))
        left, at = total, end - 1
        while left - counts[at] >= rank:
            left -= counts[at]
            at -= 1
        cells[found], totals[found], chosen[found] = cell, total, key[at]
        found, here = found + 1, end
    return found

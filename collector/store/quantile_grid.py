"""Computes one quantile for every group and step at once, from stored bins in one cumulative pass; within 1 %.

SQL's own quantiles need a sort per group. Closed levels are stored in order of group, time and bin, so that a check of
the order and one running sum over all bins are enough; what came late is sorted in.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import duckdb
import numpy as np
import numpy.typing as npt

from collector.store.sqlfiles import sql
from signals.bins import LN_GAMMA, ZERO_BIN

PACKAGE = "collector.store"
#: Bits of the sort key for the bin (16-bit, shifted to be positive) and for the step of a day or a year.
BIN_BITS = 13
STEP_BITS = 26
Wholes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class QuantileGrid:
    """One row per (group, step) with an observation: `group_id`, start of the step, observations, value in seconds."""

    group_id: Wholes
    ts: npt.NDArray[np.datetime64]
    count: Wholes
    value: npt.NDArray[np.float64]


def quantile_grid(
    cursor: duckdb.DuckDBPyConnection, metric: str, q: float, since: datetime, until: datetime, step_seconds: int = 300
) -> QuantileGrid:
    """Return the q-quantile (inverted CDF) of `metric` by group and step over [since, until), groups ascending."""
    given = {
        "metric": metric,
        "step_seconds": step_seconds,
        "since": since,
        "until": until,
        "cell_bits": STEP_BITS + BIN_BITS,
        "bin_bits": BIN_BITS,
        "zero_bin": ZERO_BIN,
    }
    found = cursor.execute(sql(PACKAGE, "quantile_grid"), given).fetchnumpy()
    return grid_of(np.asarray(found["key"]), np.asarray(found["count"]), q, step_seconds)


def keys_of(group: npt.NDArray[np.integer], step: npt.NDArray[np.integer], bins: npt.NDArray[np.integer]) -> Wholes:
    """Return the sort keys of bins, as the statement makes them: group, number of the step since 1970, bin."""
    key: Wholes = (group.astype(np.int64) << STEP_BITS) + step
    return (key << BIN_BITS) + bins - ZERO_BIN


def grid_of(key: Wholes, counts: npt.NDArray[np.integer], q: float, step_seconds: int) -> QuantileGrid:
    """Return the grid of bins in any order; counts are signed, what adds up to nothing is left out.

    >>> key = keys_of(*(np.array(column) for column in ([1, 1, 1], [7, 7, 8], [5, 3, 2])))
    >>> grid = grid_of(key, np.array([1, 99, 4]), 0.99, 300)
    >>> grid.count.tolist(), grid.value.round(3).tolist()
    ([100, 4], [1.051, 1.03])
    """
    if not len(counts):
        return QuantileGrid(np.empty(0, np.int64), np.empty(0, "datetime64[s]"), np.empty(0, np.int64), np.empty(0))
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")  # sorted runs are merged, not sorted anew
        key, counts = key[order], counts[order]
    if (counts <= 0).any():
        key, counts = _netted(key, counts)
    cells: Wholes = key >> BIN_BITS
    fresh = np.flatnonzero(np.append(True, cells[1:] != cells[:-1]))
    reached: Wholes = np.cumsum(counts, dtype=np.int64)
    before: Wholes = np.zeros(len(fresh), dtype=np.int64)
    before[1:] = reached[fresh[1:] - 1]
    totals: Wholes = np.append(before[1:], reached[-1:]) - before
    ranks = np.maximum(1, np.ceil(q * totals - 1e-9).astype(np.int64))
    chosen: Wholes = (key[np.searchsorted(reached, before + ranks)] & ((1 << BIN_BITS) - 1)) + ZERO_BIN
    gamma = np.exp(LN_GAMMA)
    value = np.where(chosen <= ZERO_BIN, 0.0, 2.0 * np.exp(LN_GAMMA * chosen) / (gamma + 1.0))
    cells = cells[fresh]
    ts = ((cells & ((1 << STEP_BITS) - 1)) * step_seconds).astype("datetime64[s]")
    return QuantileGrid(cells >> STEP_BITS, ts, totals, value)


def _netted(key: Wholes, counts: npt.NDArray[np.integer]) -> tuple[Wholes, Wholes]:
    """Return distinct keys with their summed counts, those above 0 only."""
    first = np.flatnonzero(np.diff(key, prepend=key[0] - 1))
    summed = np.add.reduceat(counts.astype(np.int64), first)
    kept = summed > 0
    return key[first][kept], summed[kept]

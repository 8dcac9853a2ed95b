"""Computes one quantile for every group and step at once, from stored bins in one cumulative pass; within 1 %.

SQL's own quantiles need a sort per group. Closed levels are stored in order of their keys (group, time, bin), so that
one walk over all bins is enough, which checks their order on the way; what came late is sorted in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import duckdb
import numpy as np
import numpy.typing as npt

from collector.store.sqlfiles import sql
from signals.bins import LN_GAMMA, ZERO_BIN

PACKAGE = "collector.store"
#: Bits of the sort key for the bin (16-bit, shifted to be positive) and for the step of a day or a year.
BIN_BITS = 13
STEP_BITS = 26
#: Rows that are worked on at once: what a processor's cache holds.
PIECE = 122_880
Wholes = npt.NDArray[np.int64]
#: Keys and their counts.
Piece = tuple[Wholes, npt.NDArray[np.integer]]
#: Cells (group and step), observations in each, and the key of its quantile.
_Walked = tuple[Wholes, Wholes, Wholes]
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class QuantileGrid:
    """One row per (group, step) with an observation: `group_id`, start of the step, observations, value in seconds."""

    group_id: Wholes
    ts: npt.NDArray[np.datetime64]
    count: Wholes
    value: npt.NDArray[np.float64]


_NOTHING = (np.empty(0, np.int64),) * 3


def quantile_grid(
    cursor: duckdb.DuckDBPyConnection, metric: str, q: float, since: datetime, until: datetime, step_seconds: int = 300
) -> QuantileGrid:
    """Return the q-quantile (inverted CDF) of `metric` by group and step over [since, until), groups ascending."""
    given = {"metric": metric, "step_seconds": step_seconds, "since": since, "until": until}
    found = cursor.sql(sql(PACKAGE, "quantile_grid"), params=given).to_arrow_table(PIECE)
    pieces = [(np.asarray(batch.column("key")), np.asarray(batch.column("count"))) for batch in found.to_batches()]
    return grid_of_pieces(pieces, q, step_seconds)


def grid_of_pieces(pieces: Sequence[Piece], q: float, step_seconds: int) -> QuantileGrid:
    """Return the grid of (keys, counts) in pieces: piece by piece where they ascend, which a cache likes."""
    walked: list[_Walked] = []
    after = -1
    for key, counts in _whole_cells(pieces):
        found = _walked(key, counts, q, after)
        if found is None:
            return grid_of(*_joined(pieces), q, step_seconds)
        walked.append(found)
        after = int(key[-1]) if len(key) else after
    return _grid(walked, step_seconds)


def _whole_cells(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Cut ascending pieces anew, so that no cell goes on in the next; only cells at the cuts are copied."""
    left: list[Piece] = []
    for key, counts in pieces:
        begin = int(np.searchsorted(key, (left[0][0][0] >> BIN_BITS) + 1 << BIN_BITS)) if left else 0
        left.append((key[:begin], counts[:begin]))
        if begin == len(key):
            continue
        yield _joined(left)
        end = int(np.searchsorted(key, key[-1] >> BIN_BITS << BIN_BITS))
        yield key[begin:end], counts[begin:end]
        left = [(key[end:], counts[end:])]
    if left:
        yield _joined(left)


def _joined(pieces: Sequence[Piece]) -> Piece:
    return np.concatenate([key for key, _ in pieces]), np.concatenate([counts for _, counts in pieces])


def keys_of(group: npt.NDArray[np.integer], step: npt.NDArray[np.integer], bins: npt.NDArray[np.integer]) -> Wholes:
    """Return the keys of bins, as `stored.latency_bins` holds them: group, number of the step since 1970, bin."""
    key: Wholes = (group.astype(np.int64) << STEP_BITS) + step
    return (key << BIN_BITS) + bins - ZERO_BIN


def grid_of(key: Wholes, counts: npt.NDArray[np.integer], q: float, step_seconds: int) -> QuantileGrid:
    """Return the grid of bins in any order; counts are signed, what adds up to nothing is left out.

    >>> key = keys_of(*(np.array(column) for column in ([1, 1, 1], [7, 7, 8], [5, 3, 2])))
    >>> grid = grid_of(key, np.array([1, 99, 4]), 0.99, 300)
    >>> grid.count.tolist(), grid.value.round(3).tolist()
    ([100, 4], [1.051, 1.03])
    """
    found = _walked(key, counts, q, -1)
    if found is None:
        order = np.argsort(key, kind="stable")  # sorted runs are merged, not sorted anew
        found = _walked(*_netted(key[order], counts[order]), q, -1)
        assert found is not None
    return _grid([found], step_seconds)


def _walked(key: Wholes, counts: npt.NDArray[np.integer], q: float, after: int) -> _Walked | None:
    """Return cells, their totals and the keys of their quantiles; None where the bins are to be put in order first."""
    from collector.store.quantile_walk import walk

    columns = np.empty((3, len(key)), dtype=np.int64)  # what is not written costs nothing
    found = walk(_frozen(key), _frozen(counts), BIN_BITS, q, after, *columns)
    return None if found < 0 else (columns[0, :found], columns[1, :found], columns[2, :found])


def _frozen(values: npt.NDArray[T]) -> npt.NDArray[T]:
    """Return a view that cannot be written, as Arrow's are: one compiled loop serves both."""
    view = values.view()
    view.flags.writeable = False
    return view


def _grid(walked: Sequence[_Walked], step_seconds: int) -> QuantileGrid:
    cells, totals, keys = (np.concatenate(columns) for columns in zip(*walked, strict=True)) if walked else _NOTHING
    chosen = (keys & ((1 << BIN_BITS) - 1)) + ZERO_BIN
    gamma = np.exp(LN_GAMMA)
    value = np.where(chosen <= ZERO_BIN, 0.0, 2.0 * np.exp(LN_GAMMA * chosen) / (gamma + 1.0))
    ts = ((cells & ((1 << STEP_BITS) - 1)) * step_seconds).astype("datetime64[s]")
    return QuantileGrid(cells >> STEP_BITS, ts, totals, value)


def _netted(key: Wholes, counts: npt.NDArray[np.integer]) -> tuple[Wholes, Wholes]:
    """Return distinct keys of sorted ones with their summed counts, those above 0 only."""
    if not len(key):
        return key, counts.astype(np.int64)
    first = np.flatnonzero(np.diff(key, prepend=key[0] - 1))
    summed = np.add.reduceat(counts.astype(np.int64), first)
    kept = summed > 0
    return key[first][kept], summed[kept]

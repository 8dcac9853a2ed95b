"""Answers what a quantile of a latency was by step and any dimensions, from stored bins; within 1 %, merged exactly."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from collector.store.latency_counts import DIMENSIONS, METRICS, STEPS
from collector.store.quantile_grid import BIN_BITS, PACKAGE, PIECE, STEP_BITS, Piece, QuantileGrid, grid_of_pieces
from collector.store.sqlfiles import sql
from signals.errors import ConfigError, UnknownNameError

#: Bits of a key below the group.
WITHIN = STEP_BITS + BIN_BITS


def latency_table(
    cursor: duckdb.DuckDBPyConnection,
    metric: str,
    q: float,
    since: datetime,
    until: datetime,
    *,
    step_seconds: int = 300,
    by: Sequence[str] = ("model", "tenant", "length_bucket"),
    model: str | None = None,
    tenant: str | None = None,
    length_bucket: str | None = None,
) -> pa.Table:
    """Return the rows (ts, each dimension of `by`, requests, value in seconds) over [since, until), by scope and ts.

    Bins of groups that `by` does not tell apart are added up before the quantile is taken: quantiles are never
    averaged. Raise UnknownNameError or ConfigError for a metric, dimension, level or quantile that there is not.
    """
    _check(metric, q, step_seconds, by)
    wanted = {"model": model, "tenant": tenant, "length_bucket": length_bucket}
    groups = cursor.sql(sql(PACKAGE, "latency_groups_like"), params=wanted).to_arrow_table()
    labels = list(zip(*(groups[name].to_pylist() for name in by), strict=True)) if by else [()] * len(groups)
    scopes = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    ids = np.asarray(groups["group_id"], dtype=np.int64)
    scope_of = np.full(int(ids.max(initial=-1)) + 2, -1, dtype=np.int64)
    scope_of[ids] = [scopes[label] for label in labels]
    given = {"metric": metric, "step_seconds": step_seconds, "since": since, "until": until}
    found = cursor.sql(sql(PACKAGE, "quantile_grid"), params=given).to_arrow_table(PIECE)
    pieces: list[Piece] = [
        (np.asarray(one.column("key")), np.asarray(one.column("count"))) for one in found.to_batches()
    ]
    apart = len(scopes) == len(ids) and not any(wanted.values())
    if not apart:
        pieces = [piece for piece in (_by_scope(piece, scope_of) for piece in pieces) if len(piece[0])]
    grid = grid_of_pieces(pieces, q, step_seconds)
    scope = scope_of[np.minimum(grid.group_id, len(scope_of) - 1)] if apart else grid.group_id
    return _table(grid, scope, list(scopes), by)


def _by_scope(piece: Piece, scope_of: npt.NDArray[np.int64]) -> Piece:
    """Return the bins of the scopes that are wanted, with the scope in the group's place."""
    key, count = piece
    scope = scope_of[np.minimum(key >> WITHIN, len(scope_of) - 1)]
    kept = scope >= 0
    return (scope[kept] << WITHIN) | (key[kept] & ((1 << WITHIN) - 1)), count[kept]


def _table(
    grid: QuantileGrid, scope: npt.NDArray[np.int64], scopes: Sequence[tuple[str | None, ...]], by: Sequence[str]
) -> pa.Table:
    """Return the rows; a group that came after the groups were read (scope -1) is left for the next answer."""
    kept = scope >= 0
    columns: dict[str, pa.Array] = {"ts": pa.array(grid.ts[kept]).cast(pa.timestamp("us", "UTC"))}
    for place, name in enumerate(by):
        labels = pa.array([label[place] for label in scopes], pa.string())
        columns[name] = labels.take(pa.array(scope[kept])) if scopes else labels
    return pa.table({**columns, "requests": pa.array(grid.count[kept]), "value": pa.array(grid.value[kept])})


def _check(metric: str, q: float, step_seconds: int, by: Sequence[str]) -> None:
    if metric not in METRICS:
        raise UnknownNameError("latency", metric, METRICS)
    for name in by:
        if name not in DIMENSIONS:
            raise UnknownNameError("dimension", name, DIMENSIONS)
    if len(set(by)) != len(by):
        raise ConfigError(f"by names a dimension twice: {', '.join(by)}")
    if step_seconds not in STEPS:
        raise ConfigError(f"step must be 1m, 5m or 1h, got {step_seconds} s")
    if not 0.0 <= q <= 1.0:
        raise ConfigError(f"q must be from 0 to 1, got {q:g}")

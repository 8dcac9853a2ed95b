"""What planners read of a store: columns by query, sums by block and kind; plain arrays, no store behind them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

__all__ = [
    "Columns",
    "Floats",
    "Telemetry",
    "by_block",
    "column",
    "instance_texts",
    "instances",
    "texts",
    "total",
]

Floats = npt.NDArray[np.float64]
Columns = Mapping[str, npt.NDArray[np.generic]]
#: Columns of each query that ran, by the query's name.
Telemetry = Mapping[str, Columns]

#: Blocks of time that a window is cut into.
BLOCKS = 100


def column(telemetry: Telemetry, query: str, name: str) -> Floats:
    """Return a column as floats (NaN for missing); empty where the query did not run."""
    found = telemetry.get(query, {}).get(name)
    return np.zeros(0) if found is None else found.astype(np.float64)


def texts(telemetry: Telemetry, query: str, name: str) -> list[str | None]:
    """Return a column of text; empty where the query did not run."""
    found = telemetry.get(query, {}).get(name)
    return [] if found is None else [None if each is None else str(each) for each in found.tolist()]


def instances(telemetry: Telemetry, name: str) -> Floats:
    """Return a column of the instances that still run at the window's end, of all where none does."""
    return column(telemetry, "plan_instances", name)[_running(telemetry)]


def instance_texts(telemetry: Telemetry, name: str) -> list[str | None]:
    """Return a column of text of the same instances."""
    running = _running(telemetry)
    return [each for each, kept in zip(texts(telemetry, "plan_instances", name), running, strict=True) if kept]


def _running(telemetry: Telemetry) -> npt.NDArray[np.bool_]:
    alive = column(telemetry, "plan_instances", "alive") > 0
    return alive if alive.any() else np.ones(len(alive), dtype=bool)


def by_block(telemetry: Telemetry, query: str, name: str, **where: str) -> Floats:
    """Return a column summed into blocks; NaN where a block has no value. `where` filters by equal text columns."""
    values = column(telemetry, query, name)
    sums = np.full(BLOCKS, np.nan)
    if len(values) == 0:
        return sums
    keep = np.isfinite(values)
    for key, wanted in where.items():
        keep &= np.array([each == wanted for each in texts(telemetry, query, key)], dtype=bool)
    blocks = column(telemetry, query, "block")[keep].astype(np.int64)
    held = np.bincount(blocks, minlength=BLOCKS)
    added = np.bincount(blocks, weights=values[keep], minlength=BLOCKS)
    return np.where(held > 0, added, np.nan)


def total(values: Floats) -> float:
    """Return the sum of what is there; 0 where nothing is."""
    return float(np.nansum(values)) if len(values) else 0.0

"""Fills an in-memory store's public tables from column arrays; used by the planners' benchmark and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from collector.store.reader import DuckReader
from tests.support.public_store import public_store

__all__ = ["START", "Column", "Store"]

Column: TypeAlias = npt.NDArray[np.generic] | Sequence[object] | str | float | bool
START = datetime(2026, 3, 2, tzinfo=UTC)


class Store:
    """An empty public store that takes rows as columns; times are seconds after START."""

    def __init__(self) -> None:
        self.connection: duckdb.DuckDBPyConnection = public_store()

    def reader(self) -> DuckReader:
        return DuckReader(self.connection)

    def add(self, view: str, ts: npt.NDArray[np.float64], **columns: Column) -> None:
        """Append rows; scalars repeat. `ts` fills the column `ts` (`started_at` for instances)."""
        time = "started_at" if view == "instances" else "ts"
        arrays = {time: _times(ts)}
        for name, values in columns.items():
            if name.endswith("_at"):
                arrays[name] = _times(np.asarray(values, dtype=np.float64))
            elif isinstance(values, str | float | int | bool):
                arrays[name] = pa.array([values] * len(ts))
            else:
                arrays[name] = pa.array(values)
        batch = pa.table(arrays)
        self.connection.register("batch", batch)
        names = ", ".join(f'"{name}"' for name in arrays)
        self.connection.execute(f"insert into {view} ({names}) select {names} from batch")
        self.connection.unregister("batch")

    def signal(
        self,
        name: str,
        ts: npt.NDArray[np.float64],
        values: npt.NDArray[np.float64],
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        """Append samples of one signal."""
        pairs = [list((attributes or {}).items())] * len(ts)
        kinds = pa.array(pairs, type=pa.map_(pa.string(), pa.string()))
        self.add("signal_samples", ts, model="m", signal=name, attributes=kinds, value=values)


def _times(seconds: npt.NDArray[np.float64]) -> pa.Array:
    start = int(START.timestamp() * 1e6)
    return pa.array((start + np.round(seconds * 1e6).astype(np.int64)), type=pa.int64()).cast(pa.timestamp("us", "UTC"))

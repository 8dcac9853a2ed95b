"""Turns times and names into columns and puts columns into tables; decides nothing."""

from __future__ import annotations

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

Floats = npt.NDArray[np.float64]
BEGIN_US = 1_774_900_861_234_567


def stamp(seconds: Floats) -> npt.NDArray[np.datetime64]:
    """Return times of the record as timestamps, NaN as none."""
    micro = np.where(np.isnan(seconds), np.iinfo(np.int64).min, BEGIN_US + np.nan_to_num(seconds) * 1e6)
    return micro.astype(np.int64).view("datetime64[us]")


def words(values: list[str | None]) -> npt.NDArray[np.object_]:
    """Return names as an array of objects."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def put(connection: duckdb.DuckDBPyConnection, table: str, rows: dict[str, npt.NDArray[np.generic]]) -> None:
    """Append columns to a table."""
    if not rows or not len(next(iter(rows.values()))):
        return
    kind = pa.timestamp("us", tz="UTC")
    arrays = {
        name: pa.array(values, type=kind) if values.dtype.kind == "M" else pa.array(values, from_pandas=True)
        for name, values in rows.items()
    }
    connection.register("batch", pa.table(arrays))
    names = ", ".join(f'"{name}"' for name in arrays)
    connection.execute(f"insert into {table} ({names}) select {names} from batch")
    connection.unregister("batch")

"""Reads the public views into column arrays; knows files of SQL and their parameters, never writes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

import duckdb
import numpy as np
import numpy.typing as npt

from collector.store.sqlfiles import sql

Columns = dict[str, npt.NDArray[np.generic]]


class Reader(Protocol):
    """What an answer needs of a store."""

    def columns(self, name: str, **params: object) -> Columns:
        """Run `collector/answers/sql/NAME.sql` with named `$params` and return its columns as numpy arrays.

        TIMESTAMPTZ comes as datetime64[us] in UTC (NaT for NULL), DOUBLE as float64 (NaN for NULL), integers as
        int64, or float64 with NaN where a NULL occurs; VARCHAR as object arrays (None for NULL).
        """

    def newest(self) -> datetime | None:
        """Return the newest stored time, or None in an empty store."""


class DuckReader:
    """A Reader over one DuckDB connection (each call takes its own cursor, so threads may share it), set to UTC."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, package: str = "collector.answers") -> None:
        self._connection = connection
        self._package = package

    def columns(self, name: str, **params: object) -> Columns:
        return self.run(sql(self._package, name), params)

    def run(self, statement: str, params: Mapping[str, object] | None = None) -> Columns:
        cursor = self._connection.cursor()
        try:
            cursor.execute(statement, _bindable(params or {}))
            return {column: _plain(array) for column, array in cursor.fetchnumpy().items()}
        finally:
            cursor.close()

    def newest(self) -> datetime | None:
        found = self.columns("newest")["ts"]
        return None if len(found) == 0 or np.isnat(found[0]) else as_datetime(found[0])


def as_datetime(value: np.generic) -> datetime:
    """Return a datetime64 as an aware datetime in UTC."""
    moment: datetime = value.astype("datetime64[us]").item()
    return moment.replace(tzinfo=UTC)


def _bindable(params: Mapping[str, object]) -> dict[str, object]:
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in params.items()}


def _plain(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Turn masked arrays into NaN, NaT or None, and times into datetime64[us] UTC."""
    if isinstance(array, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(array)
        array = np.asarray(array.data)
        if mask.any():
            if array.dtype.kind in "iuf":
                array = np.where(mask, np.nan, array.astype(np.float64))
            elif array.dtype.kind == "M":
                array = np.where(mask, np.datetime64("NaT"), array)
            else:
                array = np.where(mask, np.array(None, dtype=object), array.astype(object))
    return array.astype("datetime64[us]") if array.dtype.kind == "M" else array

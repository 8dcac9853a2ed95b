"""Counts the latencies of requests into bins: by group at three levels, and by instance; counts are signed.

TTFT counts at the first token, everything else when the request finished. A request that is joined again is taken back
as it was and counted as it is now, so that every sum stays right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from collector.store.sqlfiles import sql
from signals.bins import LN_GAMMA, ZERO_BIN

PACKAGE = "collector.store"
DIMENSIONS = ("model", "model_version", "tenant", "length_bucket", "region", "adapter")
#: In the order of their places in the cells of `stored.instance_bins`.
METRICS = ("ttft_seconds", "tpot_seconds", "e2e_seconds", "queue_seconds", "prefill_seconds")
STEPS = (60, 300, 3_600)
#: A key is group << 39 | step number << 13 | bin + 2000; an instance's place << 42 | minute << 16 | metric << 13 | bin.
BIN_BITS, MINUTE_BIT, GROUP_BIT, PLACE_BIT = 13, 16, 39, 42
_BIN_MASK, _STEP_MASK = (1 << BIN_BITS) - 1, (1 << (GROUP_BIT - BIN_BITS)) - 1
Whole: TypeAlias = npt.NDArray[np.int64]
Group: TypeAlias = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """The latencies of some requests: for each metric the requests' rows, the seconds they count at, bins + 2000."""

    rows: tuple[npt.NDArray[np.intp], ...]
    seconds: tuple[Whole, ...]
    bins: tuple[Whole, ...]

    @classmethod
    def of(cls, table: pa.Table) -> _Values:
        ts = _micros(table["ts"])
        names = table.column_names
        rows, seconds, bins = [], [], []
        for metric in METRICS:
            column = table[metric] if metric in names else pa.nulls(len(table), pa.float64())
            values = column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
            with np.errstate(invalid="ignore"):
                told = np.flatnonzero((values >= 0) & np.isfinite(values))
            told_at = _moments(table, ts, metric)
            rows.append(told)
            seconds.append(told_at[told] // 1_000_000)
            bins.append(_bins(values[told]))
        return cls(tuple(rows), tuple(seconds), tuple(bins))


class LatencyCounts:
    """Knows the numbers of the groups that are counted."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._groups: dict[Group, int] = {}
        self.reread()

    def reread(self) -> None:
        """Forget groups of a transaction that was rolled back."""
        rows = self._connection.execute(sql(PACKAGE, "latency_groups")).fetchall()
        self._groups = {tuple(row[1:]): row[0] for row in rows}

    def count(self, added: pa.Table, removed: pa.Table | None = None) -> None:
        """Count requests, and take those back that they replace, inside the caller's transaction.

        The tables have columns of the view `requests`, at least `ts`; an absent column is NULL.
        """
        tables = [(1, added)] if removed is None else [(1, added), (-1, removed)]
        signed = [(sign, table, _Values.of(table)) for sign, table in tables if len(table)]
        if signed:
            self._count_groups(signed)
            self._count_instances(signed)

    def _count_groups(self, signed: Sequence[tuple[int, pa.Table, _Values]]) -> None:
        groups = [self._group_numbers(table) for _, table, _ in signed]
        columns: list[tuple[int, str, Whole, Whole]] = []
        for place, metric in enumerate(METRICS):
            keys = [
                (group[values.rows[place]] << GROUP_BIT)
                + (values.seconds[place] // STEPS[0] << BIN_BITS)
                + values.bins[place]
                for group, (_, _, values) in zip(groups, signed, strict=True)
            ]
            key, count = _summed(keys, [sign for sign, _, _ in signed])
            columns.append((STEPS[0], metric, key, count))
            for step, finer in zip(STEPS[1:], STEPS, strict=False):
                key, count = _coarser(key, count, step // finer)
                columns.append((step, metric, key, count))
        table = pa.concat_tables(
            _bin_table(*column) for column in sorted(columns, key=lambda column: column[:2]) if len(column[2])
        ) if any(len(column[2]) for column in columns) else None  # fmt: skip
        if table is not None:
            self._insert("latency_bins_insert", table)

    def _count_instances(self, signed: Sequence[tuple[int, pa.Table, _Values]]) -> None:
        places: dict[Group, int] = {}
        keys: list[Whole] = []
        for _, table, values in signed:
            place = _numbered(table, ("model", "instance"), places)
            for metric in range(len(METRICS)):
                at = place[values.rows[metric]]
                keys.append(
                    (at << PLACE_BIT)
                    + (values.seconds[metric] // STEPS[0] << MINUTE_BIT)
                    + (metric << BIN_BITS)
                    + values.bins[metric]
                )
        key, count = _summed(keys, [sign for sign, _, _ in signed for _ in METRICS])
        names = list(places)
        somewhere = np.array([instance is not None for _, instance in names], bool)[key >> PLACE_BIT]
        key, count = key[somewhere], count[somewhere]
        if not len(key):
            return
        row = key >> MINUTE_BIT
        begins = np.flatnonzero(np.concatenate([[True], row[1:] != row[:-1]]))
        offsets = pa.array(np.append(begins, len(key)).astype(np.int32))
        place = pa.array(row[begins] >> (PLACE_BIT - MINUTE_BIT))
        minutes = row[begins] & ((1 << (PLACE_BIT - MINUTE_BIT)) - 1)
        cells = pa.array((key & ((1 << MINUTE_BIT) - 1)).astype(np.int32))
        self._insert(
            "instance_bins_insert",
            pa.table(
                {
                    "ts": _times(minutes * STEPS[0]),
                    "model": pa.array([model for model, _ in names], pa.string()).take(place),
                    "instance": pa.array([instance for _, instance in names], pa.string()).take(place),
                    "cells": pa.ListArray.from_arrays(offsets, cells),
                    "counts": pa.ListArray.from_arrays(offsets, pa.array(count.astype(np.int32))),
                }
            ),
        )

    def _group_numbers(self, table: pa.Table) -> Whole:
        """Return the group of each request; groups that are new are stored."""
        found: dict[Group, int] = {}
        place = _numbered(table, DIMENSIONS, found)
        new = [group for group in found if group not in self._groups]
        if new:
            first = max(self._groups.values(), default=0) + 1
            numbers = list(range(first, first + len(new)))
            columns = {name: pa.array([group[at] for group in new], pa.string()) for at, name in enumerate(DIMENSIONS)}
            self._insert("latency_groups_insert", pa.table({"group_id": pa.array(numbers, pa.int32()), **columns}))
            self._groups.update(zip(new, numbers, strict=True))
        return np.array([self._groups[group] for group in found], np.int64)[place]

    def _insert(self, name: str, table: pa.Table) -> None:
        self._connection.register("incoming_counts", table)
        self._connection.execute(sql(PACKAGE, name))
        self._connection.unregister("incoming_counts")


def _numbered(table: pa.Table, names: Sequence[str], into: dict[Group, int]) -> Whole:
    """Return the number of each row's combination of the named columns, adding new ones to `into`."""
    code = np.zeros(len(table), np.int64)
    dictionaries: list[list[str | None]] = []
    for name in names:
        values: list[str | None] = [None]
        if name in table.column_names:
            coded = table[name].combine_chunks()
            coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
            coded = coded if isinstance(coded, pa.DictionaryArray) else coded.dictionary_encode()
            values += coded.dictionary.to_pylist()
            indices = pc.fill_null(coded.indices.cast(pa.int64()), -1).to_numpy()
            code = code * len(values) + indices + 1
        dictionaries.append(values)
    unique, place = _distinct(code)
    numbers = np.zeros(len(unique), np.int64)
    for at, number in enumerate(unique.tolist()):
        combination: list[str | None] = []
        for values in reversed(dictionaries):
            number, digit = divmod(number, len(values)) if len(values) > 1 else (number, 0)
            combination.append(values[digit])
        numbers[at] = into.setdefault(tuple(reversed(combination)), len(into))
    return numbers[place]


def _distinct(code: Whole) -> tuple[Whole, npt.NDArray[np.intp]]:
    """Return the distinct codes, and the place of each row's among them."""
    largest = int(code.max(initial=0))
    if largest > 1 << 20:
        unique, place = np.unique(code, return_inverse=True)
        return unique, place
    seen = np.zeros(largest + 1, bool)  # few combinations: no need to sort
    seen[code] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[code]


def _summed(keys: Sequence[Whole], signs: Sequence[int]) -> tuple[Whole, Whole]:
    """Return the distinct keys and the sum of the signs of each, without those that cancel out."""
    parts = [
        (
            *np.unique(np.concatenate([k for k, s in zip(keys, signs, strict=True) if s == sign]), return_counts=True),
            sign,
        )
        for sign in dict.fromkeys(signs)
    ]
    if len(parts) == 1:
        return parts[0][0], parts[0][1] * parts[0][2]
    key = np.concatenate([part[0] for part in parts])
    return _added(key, np.concatenate([part[1] * part[2] for part in parts]))


def _coarser(key: Whole, count: Whole, steps: int) -> tuple[Whole, Whole]:
    """Return the counts of periods that are `steps` times as long."""
    step = (key >> BIN_BITS & _STEP_MASK) // steps
    return _added((key >> GROUP_BIT << GROUP_BIT) + (step << BIN_BITS) + (key & _BIN_MASK), count)


def _added(key: Whole, count: Whole) -> tuple[Whole, Whole]:
    order = np.argsort(key, kind="stable")
    key, count = key[order], count[order]
    begins = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.zeros(0, np.intp)
    if not len(begins):
        return key, count
    total = np.add.reduceat(count, begins)
    return key[begins][total != 0], total[total != 0]


def _bin_table(step: int, metric: str, key: Whole, count: Whole) -> pa.Table:
    rows = len(key)
    return pa.table(
        {
            "step_seconds": pa.array(np.full(rows, step, np.int32)),
            "metric": pa.DictionaryArray.from_arrays(
                pa.array(np.full(rows, METRICS.index(metric), np.int8)), pa.array(METRICS)
            ),
            "ts": _times((key >> BIN_BITS & _STEP_MASK) * step),
            "key": pa.array(key),
            "count": pa.array(count.astype(np.int32)),
        }
    )


def _bins(seconds: npt.NDArray[np.float64]) -> Whole:
    """Return `signals.bins.bin_of` of each, plus 2000, within the bits of a key."""
    zero = seconds <= 1e-9
    k = np.ceil(np.log(np.where(zero, 1.0, seconds)) / LN_GAMMA)
    found: Whole = np.minimum(np.where(zero, 0, k - ZERO_BIN), _BIN_MASK).astype(np.int64)
    return found


def _moments(table: pa.Table, ts: Whole, metric: str) -> Whole:
    """Return when a metric counts, in microseconds: as told, else from the arrival on."""
    told, seconds = ("first_token_at", metric) if metric == METRICS[0] else ("finished_at", "e2e_seconds")
    names = table.column_names
    found = ts
    if seconds in names:
        column = table[seconds].to_numpy()
        found = ts + np.round(np.nan_to_num(column * 1e6, posinf=0, neginf=0)).astype(np.int64)
    if told in names:
        column = table[told]
        valid = column.is_valid().to_numpy()
        found = np.where(valid, _micros(pc.fill_null(column, pa.scalar(0, column.type))), found)
    return found


def _micros(column: pa.ChunkedArray) -> Whole:
    found: Whole = column.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
    return found


def _times(seconds: Whole) -> pa.Array:
    return pa.array(seconds * 1_000_000).cast(pa.timestamp("us", "UTC"))

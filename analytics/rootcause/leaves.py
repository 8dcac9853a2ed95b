"""Holds counts by dimension as integer-coded leaves; knows nothing of time, causes or where counts came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from signals.errors import InputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
ObjectArray = npt.NDArray[np.object_]
Columns = Mapping[str, npt.NDArray[np.generic]]

COUNT_COLUMNS = ("n_before", "bad_before", "n_during", "bad_during")


@dataclass(frozen=True, slots=True)
class Leaves:
    """A leaf is one combination of levels; `codes[d][i]` is leaf i's level in `levels[d]`, level None = unknown."""

    dimensions: tuple[str, ...]
    codes: tuple[IntArray, ...]
    levels: tuple[tuple[str | None, ...], ...]
    n_before: FloatArray
    bad_before: FloatArray
    n_during: FloatArray
    bad_during: FloatArray

    def mask(self, segment: Mapping[str, str]) -> npt.NDArray[np.bool_]:
        """Return which leaves lie in `segment`; a dimension or level that does not occur matches none."""
        inside = np.ones(len(self.n_during), dtype=bool)
        for dimension, level in segment.items():
            if dimension not in self.dimensions:
                return np.zeros(len(self.n_during), dtype=bool)
            place = self.dimensions.index(dimension)
            if level not in self.levels[place]:
                return np.zeros(len(self.n_during), dtype=bool)
            inside &= self.codes[place] == self.levels[place].index(level)
        return inside


def leaves_of(counts: Columns, dimensions: Sequence[str]) -> Leaves:
    """Code a table with dimension columns and the four count columns; equal leaves are added up."""
    missing = [name for name in (*dimensions, *COUNT_COLUMNS) if name not in counts]
    if missing:
        raise InputError(f"counts lack the columns {', '.join(missing)}", missing=missing)
    size = len(counts["n_during"])
    coded = [_code(counts[name]) for name in dimensions]
    key = np.zeros(size, dtype=np.int64)
    for codes, levels in coded:
        key = _dense(key * len(levels) + codes)
    groups = int(key.max()) + 1 if size else 0
    first = np.full(groups, size, dtype=np.int64)
    np.minimum.at(first, key, np.arange(size))
    return Leaves(
        tuple(dimensions),
        tuple(codes[first] for codes, _ in coded),
        tuple(levels for _, levels in coded),
        *(_added(counts[name], key, groups) for name in COUNT_COLUMNS),
    )


def _code(values: npt.NDArray[np.generic]) -> tuple[IntArray, tuple[str | None, ...]]:
    texts = [None if _absent(value) else str(value) for value in values.tolist()]
    levels: dict[str | None, int] = {}
    codes = np.fromiter((levels.setdefault(text, len(levels)) for text in texts), dtype=np.int64, count=len(texts))
    return codes, tuple(levels)


def _absent(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value) or value == ""


def _dense(key: IntArray) -> IntArray:
    """Renumber keys from 0 so that products of level counts never overflow."""
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def _added(values: npt.NDArray[np.generic], key: IntArray, groups: int) -> FloatArray:
    clean = np.nan_to_num(values.astype(np.float64))
    return np.bincount(key, weights=clean, minlength=groups).astype(np.float64)

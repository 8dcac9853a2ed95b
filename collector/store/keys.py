"""Names strings by 64 bits, the same on every machine and version; 0 stands for no string, never for one.

Rounds of multiply and shift over eight bytes at a time, with the constants of splitmix64 (Steele, Lea, Flood: "Fast
splittable pseudorandom number generators", OOPSLA 2014). Two of a hundred million strings agree by chance once in four
thousand such sets; nobody is kept from making two that do.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Keys: TypeAlias = npt.NDArray[np.uint64]

NONE = np.uint64(0)
_WEYL = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def text_keys(column: pa.Array | pa.ChunkedArray | None, rows: int) -> Keys:
    """Return the key of each string of `rows`; no column, like a null, has none."""
    found = np.zeros(rows, np.uint64)
    if column is None or column.null_count == rows:
        return found
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + rows + 1].astype(np.int64)
    content = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    lengths = np.diff(offsets)
    for length in np.unique(lengths).tolist():
        alike = np.flatnonzero(lengths == length)
        words = np.zeros((len(alike), -(-length // 8) * 8), np.uint8)
        if len(alike) == rows:
            words[:, :length] = content[offsets[0] : offsets[-1]].reshape(rows, length)
        else:
            words[:, :length] = content[offsets[alike][:, None] + np.arange(length)]
        found[alike] = _mixed(words.view("<u8"), length)
    if column.null_count:
        found[~column.is_valid().to_numpy(zero_copy_only=False)] = NONE
    return found


def _mixed(words: Keys, length: int) -> Keys:
    """Return one key per row of words."""
    key = np.full(len(words), _WEYL ^ np.uint64(length))
    for place in range(words.shape[1]):
        key ^= words[:, place]
        key *= _FIRST
        key ^= key >> np.uint64(29)
        key += _WEYL
    key ^= key >> np.uint64(32)
    key *= _SECOND
    key ^= key >> np.uint64(31)
    return np.where(key == NONE, _WEYL, key)


def among(keys: Keys, wanted: Keys) -> npt.NDArray[np.bool_]:
    """Return which keys are among the wanted ones; none never is."""
    if not len(wanted) or not len(keys):
        return np.zeros(len(keys), bool)
    found: npt.NDArray[np.bool_] = np.isin(keys, wanted) & (keys != NONE)
    return found

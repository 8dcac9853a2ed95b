"""Reads the fields of many request halves into columns, block by block; never decides what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter

import pyarrow as pa

from signals.spans import RequestHalf

_TEXT, _WHOLE, _REAL = pa.string(), pa.int64(), pa.float64()
_INTEGERS = {"start_ns", "end_ns", "input_tokens", "cached_tokens", "output_tokens", "spec_draft_tokens",
             "spec_accepted_tokens", "attempts", "turn"}  # fmt: skip


def _type(name: str) -> pa.DataType:
    if name in _INTEGERS:
        return _WHOLE
    if name.endswith("_seconds") or name == "temperature":
        return _REAL
    if name == "structured":
        return pa.bool_()
    if name == "prefix_hashes":
        return pa.list_(pa.int64())
    return _TEXT


#: The type of each field, but the side.
FIELD_TYPES = {entry.name: _type(entry.name) for entry in fields(RequestHalf) if entry.name != "side"}


@dataclass(slots=True)
class HalfFields:
    """Takes halves in; a field that the first half lacks is looked at in one glance, and seldom is there later.

    Each block is read by all fields while it is in the processor's cache: half the cost of field by field.
    """

    sides: list[str] = field(default_factory=list)
    _likely: tuple[str, ...] = ()
    _unlikely: tuple[str, ...] = ()
    _columns: list[list[object]] = field(default_factory=list)
    #: What was read: fields that turn up late are read again.
    _blocks: list[Sequence[RequestHalf]] = field(default_factory=list)
    _late: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.sides)

    def read(self, block: Sequence[RequestHalf]) -> None:
        """Add halves; few enough to fit into the cache, where there are many."""
        if not block:
            return
        if not self._blocks:
            self._choose(block[0])
        values = zip(*map(attrgetter("side", *self._likely), block), strict=True)
        self.sides += next(values)
        for column, more in zip(self._columns, values, strict=True):
            column += more
        self._blocks.append(block)
        nothing = (None,) * len(self._unlikely)
        told = list(map(attrgetter(*self._unlikely), block))
        if told.count(nothing) < len(told):
            for found in set(told) - {nothing}:
                self._late.update(name for name, value in zip(self._unlikely, found, strict=True) if value is not None)

    def _choose(self, first: RequestHalf) -> None:
        has = {name: getattr(first, name) is not None for name in FIELD_TYPES}
        self._likely = tuple(name for name in FIELD_TYPES if has[name])
        self._unlikely = tuple(name for name in FIELD_TYPES if not has[name])
        if len(self._unlikely) < 2:  # attrgetter gives no tuple of one
            self._likely, self._unlikely = self._likely[:-2], self._unlikely + self._likely[-2:]
        self._columns = [[] for _ in self._likely]

    def arrays(self) -> dict[str, pa.Array]:
        """Return the columns of all fields that some half has."""
        found = {
            name: pa.array(column, FIELD_TYPES[name]) for name, column in zip(self._likely, self._columns, strict=True)
        }
        for name, kind in FIELD_TYPES.items():
            if name in self._late:
                again = [getattr(half, name) for block in self._blocks for half in block]
                found[name] = pa.array(again, kind)
        return found

"""Writes protobuf's wire format by hand: fields, texts, key-values and patterns with fixed-width holes; never reads it.

OTLP's points hold their numbers as fixed64 and double, so a message whose names do not change has a constant length:
its bytes are packed in one call of `struct`, about fifty times cheaper than building message objects.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

#: Wire types: https://protobuf.dev/programming-guides/encoding/#structure
VARINT, FIXED64, BYTES = 0, 1, 2


def varint(number: int) -> bytes:
    """Return an unsigned number in base 128.

    >>> varint(300).hex()
    'ac02'
    """
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def tag(number: int, kind: int) -> bytes:
    return varint(number << 3 | kind)


def block(number: int, payload: bytes) -> bytes:
    """Return a length-delimited field: a message, a text or a packed list."""
    return tag(number, BYTES) + varint(len(payload)) + payload


def text(number: int, value: str) -> bytes:
    return block(number, value.encode("utf-8", "replace"))


def key_value(number: int, key: str, value: str) -> bytes:
    """Return an OTLP KeyValue with a text value as field `number`."""
    return block(number, text(1, key) + block(2, text(1, value)))


def key_values(number: int, pairs: Mapping[str, str] | Iterable[tuple[str, str]]) -> bytes:
    items = pairs.items() if isinstance(pairs, Mapping) else pairs
    return b"".join(key_value(number, key, value) for key, value in items)


class Hole:
    """Eight bytes to be filled in: `kind` is Q (fixed64) or d (double), `place` an index into the values."""

    __slots__ = ("kind", "place")

    def __init__(self, kind: str, place: int) -> None:
        self.kind = kind
        self.place = place


Piece = bytes | Hole


def hole(number: int, kind: str, place: int) -> tuple[Piece, ...]:
    """Return a fixed-width field that is filled in later."""
    return (tag(number, FIXED64), Hole(kind, place))


def width(pieces: Sequence[Piece]) -> int:
    return sum(8 if isinstance(piece, Hole) else len(piece) for piece in pieces)


def nested(number: int, pieces: Sequence[Piece]) -> list[Piece]:
    """Return a length-delimited field around pieces."""
    return [tag(number, BYTES) + varint(width(pieces)), *pieces]


class Pattern:
    """A message with holes, compiled once and filled often."""

    __slots__ = ("_fill", "_literals", "_struct")

    def __init__(self, pieces: Sequence[Piece]) -> None:
        merged: list[Piece] = []
        for piece in pieces:
            if merged and isinstance(piece, bytes) and isinstance(merged[-1], bytes):
                merged[-1] += piece
            else:
                merged.append(piece)
        self._literals = [piece for piece in merged if isinstance(piece, bytes)]
        order = []
        form = ["<"]
        literals = 0
        for piece in merged:
            if isinstance(piece, Hole):
                form.append(piece.kind)
                order.append(len(self._literals) + piece.place)
            else:
                form.append(f"{len(piece)}s")
                order.append(literals)
                literals += 1
        self._struct = struct.Struct("".join(form))
        self._fill = itemgetter(*order, 0)

    def fill(self, values: Sequence[float]) -> bytes:
        """Return the message with `values[place]` in each hole."""
        return self._struct.pack(*self._fill([*self._literals, *values])[:-1])

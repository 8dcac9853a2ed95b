"""Walks protobuf's wire format and says where things stand; builds no message and trusts no length."""

from __future__ import annotations

from collections.abc import Iterator

from signals.errors import PayloadError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
#: Longest varint of 64 bits.
MAX_VARINT_BYTES = 10

#: Field number, wire type, where its value begins, where it ends.
Field = tuple[int, int, int, int]


def varint(body: bytes, place: int, end: int) -> tuple[int, int]:
    """Return (number, place behind it)."""
    number = shift = 0
    for at in range(place, min(end, place + MAX_VARINT_BYTES)):
        byte = body[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at + 1
        shift += 7
    raise PayloadError(f"a number that does not end at byte {place}")


def fields(body: bytes, place: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message in body[place:end]; PayloadError when it is damaged."""
    while place < end:
        key, place = varint(body, place, end)
        number, kind = key >> 3, key & 7
        if kind == BYTES:
            size, place = varint(body, place, end)
            stop = place + size
        elif kind == FIXED64:
            stop = place + 8
        elif kind == VARINT:
            _, stop = varint(body, place, end)
        elif kind == FIXED32:
            stop = place + 4
        else:
            raise PayloadError(f"wire type {kind} at byte {place}")
        if stop > end or number == 0:
            raise PayloadError(f"a field that ends beyond its message at byte {place}")
        yield number, kind, place, stop
        place = stop

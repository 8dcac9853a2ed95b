"""Decompresses request bodies within a bound on the result; never allocates more than the limit says."""

from __future__ import annotations

from collections.abc import Callable

import cramjam

from signals.errors import PayloadError, TooLargeError

#: First guess of the size of the result, in multiples of the body; doubled twice on each miss. OTLP shrinks about 12:1.
FIRST_GUESS = 16
SMALLEST_BUFFER = 64 * 1024
_FULL = "failed to write whole buffer"

DECOMPRESSORS: dict[str, Callable[[bytes, bytearray], int]] = {
    "gzip": cramjam.gzip.decompress_into,
    "x-gzip": cramjam.gzip.decompress_into,
    "zstd": cramjam.zstd.decompress_into,
    "deflate": cramjam.zlib.decompress_into,
}


def decompress(body: bytes, encoding: str, limit: int) -> bytes:
    """Return the content of a body of Content-Encoding `encoding`.

    Raise TooLargeError when it would be over `limit` bytes (a bomb costs one buffer of that size at most), and
    PayloadError when the encoding is unknown or the body is damaged.
    """
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        if len(body) > limit:
            raise TooLargeError(f"body of {len(body)} bytes is over the limit of {limit}", limit=limit)
        return body
    if name == "snappy":
        return unsnappy(body, limit)
    unpack = DECOMPRESSORS.get(name)
    if unpack is None:
        known = ", ".join(["identity", *DECOMPRESSORS, "snappy"])
        raise PayloadError(f"Content-Encoding {encoding!r} is not understood; known: {known}", status=415)
    size = min(limit, _stated_size(body, name) or max(SMALLEST_BUFFER, FIRST_GUESS * len(body)))
    while True:
        buffer = bytearray(size)
        try:
            return bytes(memoryview(buffer)[: unpack(body, buffer)])
        except cramjam.DecompressionError as error:
            if _FULL not in str(error):
                raise PayloadError(f"body of {len(body)} bytes is no {name}: {error}") from error
            if size >= limit:
                raise TooLargeError(
                    f"body of {len(body)} bytes is over the limit of {limit} once decompressed", limit=limit
                ) from None
            size = min(limit, 4 * size)


def unsnappy(body: bytes, limit: int) -> bytes:
    """Return the content of a raw snappy block, as Prometheus sends it."""
    try:
        size = cramjam.snappy.decompress_raw_len(body)
        if size > limit:
            raise TooLargeError(f"body would be {size} bytes, over the limit of {limit}", limit=limit)
        buffer = bytearray(size)
        return bytes(memoryview(buffer)[: cramjam.snappy.decompress_raw_into(body, buffer)])
    except cramjam.DecompressionError as error:
        raise PayloadError(f"body of {len(body)} bytes is no snappy block: {error}") from error


def _stated_size(body: bytes, name: str) -> int | None:
    """Return the size that a gzip body states in its last four bytes: a hint that saves a second attempt."""
    if not name.endswith("gzip") or len(body) < 18:
        return None
    stated = int.from_bytes(body[-4:], "little")
    return stated if len(body) // 2 <= stated <= 1032 * len(body) else None

"""Bodies are decompressed within their limit, whatever they claim."""

from __future__ import annotations

import gzip

import cramjam
import pytest

from collector.receivers.compression import decompress, unsnappy
from signals.errors import PayloadError, TooLargeError

TEXT = b"queue_depth 3\n" * 5_000
PACKED = {
    "gzip": gzip.compress(TEXT),
    "zstd": bytes(cramjam.zstd.compress(TEXT)),
    "deflate": bytes(cramjam.zlib.compress(TEXT)),
    "snappy": bytes(cramjam.snappy.compress_raw(TEXT)),
}


@pytest.mark.parametrize("encoding", PACKED)
def test_every_encoding_gives_the_content_back(encoding: str) -> None:
    assert decompress(PACKED[encoding], encoding, len(TEXT)) == TEXT


@pytest.mark.parametrize("encoding", PACKED)
def test_one_byte_over_the_limit_is_too_large(encoding: str) -> None:
    with pytest.raises(TooLargeError):
        decompress(PACKED[encoding], encoding, len(TEXT) - 1)


@pytest.mark.parametrize("encoding", PACKED)
def test_a_damaged_body_is_named(encoding: str) -> None:
    with pytest.raises(PayloadError):
        decompress(PACKED[encoding][: len(PACKED[encoding]) // 2], encoding, 1 << 20)


def test_a_bomb_costs_no_more_than_the_limit() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    with pytest.raises(TooLargeError):
        decompress(bomb, "gzip", 1_000_000)


def test_a_gzip_body_that_lies_about_its_size_is_read_anyway() -> None:
    lying = PACKED["gzip"][:-4] + (200).to_bytes(4, "little")
    with pytest.raises(PayloadError):
        decompress(lying, "gzip", 1 << 20)


def test_a_plain_body_is_limited_too() -> None:
    assert decompress(b"abc", "", 3) == b"abc"
    with pytest.raises(TooLargeError):
        decompress(b"abcd", "identity", 3)


def test_an_unknown_encoding_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PayloadError, match="gzip"):
        decompress(b"abc", "br", 10)


def test_a_snappy_header_that_promises_too_much_is_refused_before_anything_is_allocated() -> None:
    with pytest.raises(TooLargeError):
        unsnappy(b"\xff\xff\xff\xff\x0f" + b"a", 1 << 20)

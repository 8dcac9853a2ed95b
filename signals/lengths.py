"""Names the length bucket of a request from its input tokens; never guesses a length it was not given."""

from __future__ import annotations

from bisect import bisect_right

#: Upper edges in tokens, exclusive (1,000 tokens is `1k-4k`), fixed in 1.x. The first four are LiteLLM's own.
EDGES_TOKENS: tuple[int, ...] = (1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000)
LENGTH_BUCKETS: tuple[str, ...] = ("0-1k", "1k-4k", "4k-16k", "16k-64k", "64k-256k", "256k-1m", "1m+")
#: What a LiteLLM page calls everything from 64k up; kept where only its page is known.
LITELLM_OPEN_BUCKET = "64k+"


def length_bucket(input_tokens: int | None) -> str | None:
    """Return the bucket of `input_tokens`, or None where the length is unknown.

    >>> length_bucket(999), length_bucket(1_000), length_bucket(None)
    ('0-1k', '1k-4k', None)
    """
    if input_tokens is None:
        return None
    return LENGTH_BUCKETS[bisect_right(EDGES_TOKENS, input_tokens)]


def bucket_bounds(bucket: str) -> tuple[int, int | None]:
    """Return (lowest tokens, exclusive upper edge or None) of a bucket name."""
    if bucket == LITELLM_OPEN_BUCKET:
        return 64_000, None
    place = LENGTH_BUCKETS.index(bucket)
    low = EDGES_TOKENS[place - 1] if place else 0
    return low, EDGES_TOKENS[place] if place < len(EDGES_TOKENS) else None

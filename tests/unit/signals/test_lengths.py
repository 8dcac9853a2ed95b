"""Length buckets: upper edges are exclusive, unknown stays unknown."""

from __future__ import annotations

import pytest

from signals.lengths import EDGES_TOKENS, LENGTH_BUCKETS, LITELLM_OPEN_BUCKET, bucket_bounds, length_bucket


@pytest.mark.parametrize(
    ("tokens", "bucket"),
    [(0, "0-1k"), (999, "0-1k"), (1_000, "1k-4k"), (3_999, "1k-4k"), (4_000, "4k-16k"), (64_000, "64k-256k"),
     (999_999, "256k-1m"), (1_000_000, "1m+"), (50_000_000, "1m+")],
)  # fmt: skip
def test_a_length_belongs_to_the_bucket_whose_upper_edge_is_above_it(tokens: int, bucket: str) -> None:
    assert length_bucket(tokens) == bucket


def test_an_unknown_length_has_no_bucket() -> None:
    assert length_bucket(None) is None


@pytest.mark.parametrize("bucket", LENGTH_BUCKETS)
def test_bounds_say_what_a_bucket_holds(bucket: str) -> None:
    low, high = bucket_bounds(bucket)
    assert length_bucket(low) == bucket
    assert high is None or (length_bucket(high - 1) == bucket and length_bucket(high) != bucket)


def test_the_gateways_open_bucket_is_kept_as_it_is() -> None:
    assert bucket_bounds(LITELLM_OPEN_BUCKET) == (EDGES_TOKENS[3], None)

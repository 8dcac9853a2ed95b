"""Expected distinct adapters agree with batches drawn at random."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.planners.popularity import distinct_in_batch, distinct_with_affinity, resident_share, zipf


@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.5])
def test_expected_distinct_agrees_with_drawn_batches(exponent: float) -> None:
    shares = zipf(300, exponent)
    rng = np.random.default_rng(2)
    drawn = [len(np.unique(rng.choice(300, 64, p=shares))) for _ in range(400)]
    assert distinct_in_batch(shares, 64) == pytest.approx(np.mean(drawn), rel=0.03)


def test_affinity_leaves_fewer_distinct_adapters_in_a_batch() -> None:
    shares = zipf(1000, 1.0)
    anywhere = distinct_in_batch(shares, 256)
    assert distinct_with_affinity(shares, 256, 8) < anywhere
    assert distinct_with_affinity(shares, 256, 1) == pytest.approx(anywhere)


def test_one_adapter_is_always_one() -> None:
    assert distinct_in_batch(zipf(1, 1.0), 10) == pytest.approx(1)
    assert distinct_with_affinity(zipf(1, 1.0), 10, 8) == pytest.approx(1)


def test_the_most_popular_stay_resident() -> None:
    shares = zipf(100, 1.0)
    assert resident_share(shares, 0) == 0
    assert resident_share(shares, 10) > 0.1
    assert resident_share(shares, 1_000) == pytest.approx(1)

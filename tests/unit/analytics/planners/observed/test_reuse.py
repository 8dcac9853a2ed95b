"""Reuse intervals: the share that returns is right though the window ends before some do."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.planners.observed.popularity import exponent_from_counts
from analytics.planners.observed.reuse import survival
from analytics.planners.popularity import zipf


def _binned(share: float, watched: float, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Intervals of mean 600 s, each watched for up to `watched` seconds."""
    rng = np.random.default_rng(4)
    interval = np.where(rng.random(count) < share, rng.exponential(600.0, count), np.inf)
    seen = rng.uniform(0, watched, count)
    returned = interval <= seen
    bins = np.floor(10 * np.log(np.maximum(np.where(returned, interval, seen), 0.001)))
    return bins, returned.astype(float), np.ones(count)


def test_turns_cut_off_by_the_window_do_not_lower_the_share_that_returns() -> None:
    bins, returned, counts = _binned(0.7, 12_000.0, 20_000)
    naive = returned.mean()
    found = survival(bins, returned, counts)
    assert found is not None
    assert naive < 0.68
    assert 1 - found.waiting[-1] == pytest.approx(0.7, abs=0.02)


def test_half_of_those_who_return_have_by_the_median() -> None:
    found = survival(*_binned(1.0, 20_000.0, 20_000))
    assert found is not None
    at = int(np.searchsorted(1 - found.waiting, 0.5))
    assert found.seconds[at] == pytest.approx(600 * np.log(2), rel=0.12)


def test_nothing_watched_says_nothing() -> None:
    assert survival(np.zeros(0), np.zeros(0), np.zeros(0)) is None
    assert survival(np.ones(3), np.ones(3), np.ones(3)) is None


@pytest.mark.parametrize("exponent", [0.7, 1.0, 1.4])
def test_a_zipf_exponent_is_found_again(exponent: float) -> None:
    rng = np.random.default_rng(6)
    counts = np.sort(rng.multinomial(10_000, zipf(400, exponent)))[::-1].astype(float)
    found = exponent_from_counts(counts[counts > 0], 400)
    assert found is not None
    assert found.low is not None and found.high is not None
    assert found.low <= exponent <= found.high


def test_few_requests_say_nothing_of_popularity() -> None:
    assert exponent_from_counts(np.array([10.0, 5.0]), 2) is None

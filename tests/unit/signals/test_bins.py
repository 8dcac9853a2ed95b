"""Latency bins keep the promised relative error and their edges meet."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signals.bins import ALPHA, ZERO_BIN, bin_edges, bin_of, bin_value

LATENCIES = st.floats(min_value=2e-9, max_value=1e6)


@given(LATENCIES)
@settings(max_examples=150, derandomize=True)
def test_a_bins_value_is_within_the_promised_error_of_everything_in_it(seconds: float) -> None:
    assert abs(bin_value(bin_of(seconds)) - seconds) <= ALPHA * seconds * (1 + 1e-9)


@given(LATENCIES)
@settings(max_examples=150, derandomize=True)
def test_a_latency_lies_between_the_edges_of_its_bin(seconds: float) -> None:
    low, high = bin_edges(bin_of(seconds))
    assert low * (1 - 1e-12) < seconds <= high * (1 + 1e-12)


@pytest.mark.parametrize("k", [-500, -1, 0, 1, 500])
def test_bins_meet_at_their_edges(k: int) -> None:
    assert bin_edges(k)[1] == pytest.approx(bin_edges(k + 1)[0])


def test_zero_has_a_bin_below_all_others() -> None:
    assert bin_of(0.0) == ZERO_BIN < bin_of(1e-8)
    assert bin_value(ZERO_BIN) == 0.0
    assert bin_edges(ZERO_BIN) == (0.0, 0.0)


def test_every_bin_of_a_latency_fits_the_stored_type() -> None:
    assert -32_768 <= bin_of(2e-9) < bin_of(1e6) <= 32_767

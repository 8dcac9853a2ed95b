"""Quantiles are exact from records, within 1 % from bins, and certain intervals from edges."""

from __future__ import annotations

from math import inf

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.slo import merge_bins, quantiles_of_bins, quantiles_of_edges, quantiles_of_records, share_within
from analytics.slo.edge_hint import edges_around, vllm_flag
from analytics.slo.quantile import confidence_ranks, rank
from benchmarks.slo.shards import merged_p99_error
from signals.bins import bin_of
from signals.errors import UnknownNameError

LATENCIES = st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=60)
QS = st.sampled_from([0.0, 0.01, 0.07, 0.5, 0.9, 0.95, 0.99, 1.0])


@given(LATENCIES, QS)
def test_records_give_what_sql_gives(values: list[float], q: float) -> None:
    (found,) = quantiles_of_records(np.array(values), (q,))
    (row,) = duckdb.execute(
        "select quantile_disc(v, $q) from (select unnest($v) as v)", {"q": q, "v": values}
    ).fetchall()
    assert found.value == row[0]


@given(LATENCIES, QS)
def test_bins_are_within_one_percent(values: list[float], q: float) -> None:
    (exact,) = quantiles_of_records(np.array(values), (q,))
    bins = np.array([bin_of(value) for value in values])
    (found,) = quantiles_of_bins(bins, np.ones(len(bins), dtype=np.int64), (q,))
    assert found.value == pytest.approx(exact.value, rel=0.01 + 1e-9)


@given(
    st.lists(LATENCIES, min_size=1, max_size=4),
    st.lists(st.sets(st.floats(1e-3, 1e3), max_size=8), min_size=4, max_size=4),
    QS,
)
def test_unequal_edges_of_instances_always_hold_the_truth(
    instances: list[list[float]], edge_sets: list[set[float]], q: float
) -> None:
    rows = []
    for values, edges in zip(instances, edge_sets, strict=False):
        uppers = [*sorted(edges), inf]
        counts = np.bincount(np.searchsorted(uppers, values), minlength=len(uppers))
        rows += [(low, high, count) for low, high, count in zip([0.0, *uppers[:-1]], uppers, counts, strict=True)]
    low, high, counts = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    (found,) = quantiles_of_edges(low, high, counts, (q,))
    (exact,) = quantiles_of_records(np.concatenate([np.array(one) for one in instances]), (q,))
    assert exact.value is not None and found.low is not None
    assert found.low < exact.value <= (inf if found.high is None else found.high)


def test_equal_edges_give_exactly_the_bucket() -> None:
    low, high = np.array([0.0, 1.0, 2.5, 0.0, 1.0]), np.array([1.0, 2.5, np.nan, 1.0, 2.5])
    found = quantiles_of_edges(low, high, np.array([50, 45, 5, 80, 20]), (0.5, 0.9, 0.99))
    assert [(one.low, one.high, one.resolved) for one in found] == [
        (0.0, 1.0, False),
        (1.0, 2.5, False),
        (2.5, None, False),
    ]


def test_narrow_buckets_resolve_to_their_upper_edge() -> None:
    (found,) = quantiles_of_edges(np.array([2.0]), np.array([2.3]), np.array([7]), (0.99,))
    assert (found.value, found.low, found.high, found.resolved) == (2.3, 2.0, 2.3, True)


def test_widened_ranks_reach_into_the_neighbouring_bucket() -> None:
    low, high, counts = np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([50, 50])
    (narrow,) = quantiles_of_edges(low, high, counts, (0.5,))
    (wide,) = quantiles_of_edges(low, high, counts, (0.5,), widen_ranks=1)
    assert ((narrow.low, narrow.high), (wide.low, wide.high)) == ((0.0, 1.0), (0.0, 2.0))


def test_observations_that_straddle_a_limit_are_neither_within_nor_above() -> None:
    low, high, counts = np.array([0.0, 1.0, 2.5]), np.array([1.0, 2.5, np.nan]), np.array([3, 4, 5])
    assert share_within(low, high, counts, 2.0) == (3, 5)
    assert share_within(low, high, counts, 2.5) == (7, 5)


def test_late_rows_append_signed_counts() -> None:
    bins, counts = merge_bins(np.array([5, 5, 7, 7]), np.array([2, 3, 4, -4]))
    assert (bins.tolist(), counts.tolist()) == ([5], [5])


def test_nothing_has_no_quantile() -> None:
    empty = np.array([])
    for found in (
        quantiles_of_records(np.array([np.nan]), (0.5,)),
        quantiles_of_bins(empty, empty, (0.5,)),
        quantiles_of_edges(empty, empty, empty, (0.5,)),
    ):
        assert (found[0].count, found[0].value, found[0].low) == (0, None, None)


def test_a_hundred_requests_cannot_bound_a_p99_from_above() -> None:
    (found,) = quantiles_of_records(np.arange(1.0, 101.0), (0.99,))
    assert (found.value, found.low, found.high) == (99.0, 97.0, None)
    assert confidence_ranks(10_000, 0.99) == (9880, 9920)


def test_confidence_intervals_hold_the_true_quantile_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(300):
        (found,) = quantiles_of_records(rng.exponential(1.0, 2_000), (0.95,))
        assert found.low is not None and found.high is not None
        held += found.low <= -np.log(0.05) <= found.high
    assert held / 300 > 0.92


def test_ranks_are_not_pushed_up_by_rounding() -> None:
    assert rank(100, 0.07) == 7
    assert rank(350, 0.99) == 347


def test_merged_shards_of_ten_instances_stay_within_one_percent() -> None:
    assert merged_p99_error(1) <= 0.01


def test_the_engine_flag_puts_an_edge_on_the_objective() -> None:
    assert 2.0 in edges_around((2.0,))
    ratios = np.diff(np.log(edges_around((2.0, 7.5))))
    assert ratios.max() < np.log(1.5)
    assert '"time_to_first_token"' in vllm_flag("ttft_seconds", (2.0,))
    with pytest.raises(UnknownNameError):
        vllm_flag("ttft")

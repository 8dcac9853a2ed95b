"""Segments: the one that carries the excess comes first, simple before complex, mix told from within."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.rootcause import localise
from signals.errors import InputError


def table(worse: dict[str, str], factor: float, seed: int = 1) -> dict[str, np.ndarray]:
    """Return counts of 4 instances × 5 tenants × 3 lengths with one segment's bad share multiplied."""
    rng = np.random.default_rng(seed)
    rows = [(f"i{i}", f"t{t}", length) for i in range(4) for t in range(5) for length in ("short", "middle", "long")]
    columns = {
        name: np.array([row[k] for row in rows], dtype=object)
        for k, name in enumerate(("instance", "tenant", "length"))
    }
    base = np.array([{"short": 0.01, "middle": 0.02, "long": 0.05}[row[2]] for row in rows])
    inside = (
        np.all([columns[name] == level for name, level in worse.items()], axis=0) if worse else np.ones(len(rows), bool)
    )
    n_before, n_during = rng.integers(400, 900, len(rows)), rng.integers(200, 400, len(rows))
    return columns | {
        "n_before": n_before,
        "bad_before": rng.binomial(n_before, base),
        "n_during": n_during,
        "bad_during": rng.binomial(n_during, np.where(inside, np.minimum(base * factor, 0.95), base)),
    }


DIMENSIONS = ("instance", "tenant", "length")


@pytest.mark.parametrize("worse", [{"instance": "i2"}, {"tenant": "t4"}, {"instance": "i1", "length": "short"}, {}])
def test_the_segment_that_got_worse_comes_first(worse: dict[str, str]) -> None:
    found = localise(table(worse, 12), DIMENSIONS)
    assert found[0].segment == worse
    assert found[0].kind == "within"
    assert found[0].recall > 0.9


def test_nothing_is_found_where_nothing_changed() -> None:
    assert localise(table({}, 1.0), DIMENSIONS) == []


def test_more_of_a_kind_that_was_always_slow_is_mix() -> None:
    counts = table({}, 1.0)
    long = counts["length"] == "long"
    counts["n_before"] = counts["n_before"] * 50
    counts["bad_before"] = counts["bad_before"] * 50
    counts["n_during"] = counts["n_during"] * 10
    counts["n_during"] = np.where(long, counts["n_during"] * 3, counts["n_during"])
    counts["bad_during"] = np.round(
        counts["n_during"] * np.where(long, 0.05, np.where(counts["length"] == "middle", 0.02, 0.01))
    )
    found = localise(counts, DIMENSIONS)
    assert found[0].kind == "mix"
    assert found[0].segment == {"length": "long"}


def test_simpsons_paradox_is_not_called_a_regression() -> None:
    """Each tenant got better, yet the whole got worse because the slow tenant asks more: that is mix."""
    counts = {
        "tenant": np.array(["slow", "fast"], dtype=object),
        "n_before": np.array([1000, 9000]), "bad_before": np.array([300, 90]),
        "n_during": np.array([9000, 1000]), "bad_during": np.array([2500, 8]),
    }  # fmt: skip
    assert {segment.kind for segment in localise(counts, ["tenant"])} == {"mix"}


def test_unknown_levels_are_no_answer() -> None:
    counts = table({"instance": "i2"}, 12)
    counts["instance"] = np.array([None if name == "i2" else name for name in counts["instance"]], dtype=object)
    assert all(None not in segment.segment.values() for segment in localise(counts, DIMENSIONS))


def test_a_missing_count_column_is_named() -> None:
    counts = table({}, 1.0)
    del counts["bad_during"]
    with pytest.raises(InputError, match="bad_during"):
        localise(counts, DIMENSIONS)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(4, 20))
def test_shares_stay_within_nought_and_one_and_order_does_not_matter(seed: int, factor: float) -> None:
    counts = table({"tenant": "t1"}, factor, seed)
    found = localise(counts, DIMENSIONS)
    shuffled = np.random.default_rng(seed).permutation(len(counts["n_before"]))
    again = localise({name: values[shuffled] for name, values in counts.items()}, DIMENSIONS)
    assert [s.segment for s in found[:1]] == [s.segment for s in again[:1]]
    assert all(0 <= s.recall <= 1 and 0 <= s.precision <= 1 for s in found)

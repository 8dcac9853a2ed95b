"""One cumulative pass gives what a quantile of each group and step would give, within a bin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.store.quantile_grid import grid_of, grid_of_pieces, keys_of
from signals.bins import ALPHA, ZERO_BIN, bin_of

VALUES = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2), st.floats(1e-4, 1e4)), min_size=1, max_size=60)


def exact(found: list[tuple[int, int, float]], q: float) -> dict[tuple[int, int], tuple[int, float]]:
    cells: dict[tuple[int, int], list[float]] = {}
    for group, step, value in found:
        cells.setdefault((group, step), []).append(value)
    return {
        cell: (len(values), sorted(values)[max(1, int(np.ceil(q * len(values) - 1e-9))) - 1])
        for cell, values in cells.items()
    }


@settings(max_examples=80, deadline=None)
@given(VALUES, st.sampled_from([0.0, 0.5, 0.9, 0.99, 1.0]))
def test_the_grid_is_within_one_percent_of_sorting_every_cell(found: list[tuple[int, int, float]], q: float) -> None:
    group, step, bins = (np.array(column) for column in zip(*((g, s, bin_of(v)) for g, s, v in found), strict=True))
    grid = grid_of(keys_of(group, step, bins), np.ones(len(found), dtype=np.int64), q, 300)
    wanted = exact(found, q)
    steps = (grid.ts.astype(np.int64) // 300).tolist()
    assert set(zip(grid.group_id.tolist(), steps, strict=True)) == set(wanted)
    for name, at, count, value in zip(grid.group_id.tolist(), steps, grid.count, grid.value, strict=True):
        assert count == wanted[(name, at)][0]
        assert abs(value - wanted[(name, at)][1]) <= ALPHA * wanted[(name, at)][1] * (1 + 1e-9)


def test_counts_that_cancel_are_not_there() -> None:
    columns = (np.array(column) for column in ([1, 1, 2, 1], [0, 0, 0, 0], [5, 6, 7, 6]))
    grid = grid_of(keys_of(*columns), np.array([2, 3, 1, -3]), 0.99, 60)
    assert (grid.group_id.tolist(), grid.count.tolist()) == ([1, 2], [2, 1])


def test_zero_has_its_own_bin_and_nothing_gives_nothing() -> None:
    grid = grid_of(keys_of(np.array([1]), np.array([0]), np.array([ZERO_BIN])), np.array([4]), 0.5, 60)
    assert grid.value.tolist() == [0.0]
    empty = np.empty(0, dtype=np.int64)
    assert len(grid_of(empty, empty, 0.5, 60).value) == 0


@settings(max_examples=80, deadline=None)
@given(VALUES, st.integers(1, 7), st.booleans())
def test_pieces_give_what_the_whole_gives(found: list[tuple[int, int, float]], size: int, in_order: bool) -> None:
    columns = (np.array(column) for column in zip(*((g, s, bin_of(v)) for g, s, v in found), strict=True))
    key = keys_of(*columns)
    key = np.sort(key) if in_order else key
    counts = np.arange(1, len(key) + 1, dtype=np.int32)
    pieces = [(key[at : at + size], counts[at : at + size]) for at in range(0, len(key), size)]
    whole, pieced = grid_of(key, counts, 0.99, 300), grid_of_pieces(pieces, 0.99, 300)
    for name in ("group_id", "ts", "count", "value"):
        assert np.array_equal(getattr(whole, name), getattr(pieced, name))
    assert len(grid_of_pieces([], 0.99, 300).value) == 0

"""Segments in tables unlike a fleet's: several elements, a small one in a calm whole, a large one that holds it."""

from __future__ import annotations

import numpy as np

from analytics.rootcause import localise

DIMENSIONS = ("cdn", "bitrate", "device")


def table(worse: list[dict[str, str]], share: float = 0.3, seed: int = 3) -> dict[str, np.ndarray]:
    """Return counts of 4 × 8 × 6 leaves of very unlike sizes, two in a hundred bad, `share` more where it got worse."""
    rng = np.random.default_rng(seed)
    codes = [code.ravel() for code in np.indices((4, 8, 6))]
    columns = {
        name: np.array([f"{name[0]}{code}" for code in column], dtype=object)
        for name, column in zip(DIMENSIONS, codes, strict=True)
    }
    size = np.exp(4.5 - 0.4 * codes[0] - 0.3 * codes[1] - 0.3 * codes[2])
    inside = np.zeros(len(size), dtype=bool)
    for segment in worse:
        inside |= np.all([columns[name] == level for name, level in segment.items()], axis=0)
    before, during = rng.poisson(size * 40), rng.poisson(size * 8)
    return columns | {
        "n_before": before,
        "bad_before": rng.binomial(before, 0.02),
        "n_during": during,
        "bad_during": rng.binomial(during, np.where(inside, 0.02 + share, 0.02)),
    }


def test_two_elements_of_one_dimension_come_before_what_holds_both() -> None:
    worse = [{"bitrate": "b1"}, {"bitrate": "b3"}]
    found = localise(table(worse), DIMENSIONS)
    assert [segment.segment for segment in found[:2]] in (worse, worse[::-1])
    assert found[0].score >= found[1].score >= found[2].score


def test_three_elements_of_one_cuboid_are_told_apart() -> None:
    worse = [{"cdn": "c0", "device": "d1"}, {"cdn": "c1", "device": "d0"}, {"cdn": "c2", "device": "d2"}]
    found = localise(table(worse), DIMENSIONS)
    assert sorted(map(str, worse)) == sorted(str(segment.segment) for segment in found[:3])


def test_a_small_element_is_found_though_the_whole_hardly_moved() -> None:
    found = localise(table([{"cdn": "c3", "bitrate": "b4"}], 0.5), DIMENSIONS)
    assert found[0].segment == {"cdn": "c3", "bitrate": "b4"}


def test_a_large_value_that_holds_most_of_a_small_one_does_not_stand_for_it() -> None:
    found = localise(table([{"device": "d4"}], 0.25), DIMENSIONS)
    assert found[0].segment == {"device": "d4"}


def test_everything_stays_the_answer_where_everything_got_worse() -> None:
    found = localise(table([{}], 0.02), DIMENSIONS)
    assert found[0].segment == {}


def test_chance_alone_is_no_element() -> None:
    named = [localise(table([], seed=seed), DIMENSIONS) for seed in range(30)]
    assert sum(bool(found) for found in named) <= 1

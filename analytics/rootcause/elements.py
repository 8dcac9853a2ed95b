"""Tells a segment that carries a rise from one that merely holds it, and several elements from one; scores none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from analytics.rootcause.leaves import Leaves
from analytics.rootcause.segment import DIMENSION_COST, Contrast, Segment

#: So many of the best may be explained away, by so many of the best.
TRIED, EXPLAINING = 10, 24
#: The explaining segment holds at least this part of the excess of the explained one.
LEAST_PART = 0.5
#: What is left over counts as calm below the first share of the rise that was to be expected of it, and as risen above
#: the second; between them nothing is said.
CALM_SHARE, RISEN_SHARE = 0.25, 0.4
#: The rise that was to be expected of what is left over must be this clear, in standard deviations.
CLEAR_SIGMAS = 4.0
#: Most elements that are gathered, and the part of the whole excess that each must add.
MOST_ELEMENTS, LEAST_GAIN = 6, 0.05
#: Only elements that carry their rise as evenly as this, and as steeply as this part of the first one's, are gathered.
EVEN, STEEP = 0.6, 0.3
#: Taken off the score of a set for each further element.
ELEMENT_COST = 0.02
Mask = npt.NDArray[np.bool_]


def explained_away(
    leaves: Leaves, contrast: Contrast, ranked: Sequence[Segment], overdispersion: float
) -> list[Segment]:
    """Put a segment below the one that explains it: without that one's events nothing of its rise is left.

    A value that holds most of a small broken part rises a little as a whole; the rest of it stands as before.
    """
    masks = [leaves.mask(item.segment) for item in ranked[:EXPLAINING]]
    scores = [item.score for item in ranked]
    for place in range(min(TRIED, len(ranked))):
        for other in range(len(masks)):
            if other == place or ranked[other].excess < LEAST_PART * ranked[place].excess:
                continue
            if _explains(contrast, masks[other], masks[place], overdispersion):
                scores[place] = min(scores[place], scores[other] - 1e-3)
    moved = [replace(item, score=score) for item, score in zip(ranked, scores, strict=True)]
    return sorted(moved, key=lambda item: -item.score)


def _explains(contrast: Contrast, inner: Mask, outer: Mask, overdispersion: float) -> bool:
    """Say whether the rise of `outer` is that of `inner`: its rest stands still, and `inner` rose outside of it too."""
    rest, beyond = outer & ~inner, inner & ~outer
    if not rest.any() or not (inner & outer).any():
        return False
    told = _expected_rise(contrast, inner, rest)
    expected = float(contrast.expected[rest].sum())
    if told < CLEAR_SIGMAS * np.sqrt(overdispersion * (expected + told + 1.0)):
        return False
    if float((contrast.seen - contrast.expected)[rest].sum()) > CALM_SHARE * told:
        return False
    if not beyond.any():
        return True
    return float((contrast.seen - contrast.expected)[beyond].sum()) >= RISEN_SHARE * _expected_rise(
        contrast, inner, beyond
    )


def _expected_rise(contrast: Contrast, like: Mask, there: Mask) -> float:
    """Return the excess that `there` would have if it had risen as `like` did, by ratio or by head-room, the less."""
    seen, expected, room = (float(v[like].sum()) for v in (contrast.seen, contrast.expected, contrast.ceiling))
    usual, space = float(contrast.expected[there].sum()), float((contrast.ceiling - contrast.expected)[there].sum())
    return min(usual * (seen / max(expected, 1e-9) - 1.0), space * (seen - expected) / max(room - expected, 1e-9))


def gathered(ranked: list[Segment]) -> list[Segment]:
    """Put elements of one cuboid first where together they account for the rise better than any one segment does."""
    if not ranked:
        return ranked
    sets = [_gather(ranked, cuboid) for cuboid in _cuboids(ranked)]
    best = max(sets, key=lambda found: found[0], default=(0.0, []))
    if len(best[1]) < 2 or best[0] <= ranked[0].score:
        return ranked
    first = [replace(item, score=best[0] - 1e-3 * place) for place, item in enumerate(best[1])]
    names = [item.segment for item in first]
    return first + [item for item in ranked if item.segment not in names]


def _cuboids(ranked: Sequence[Segment]) -> list[tuple[str, ...]]:
    even = [tuple(item.segment) for item in ranked if item.segment and item.precision >= EVEN]
    return list(dict.fromkeys(even))[:8]


def _gather(ranked: Sequence[Segment], cuboid: tuple[str, ...]) -> tuple[float, list[Segment]]:
    """Return the score of the elements of a cuboid that rose alike, and them by their excess."""
    mine = sorted((item for item in ranked if tuple(item.segment) == cuboid), key=lambda item: -item.excess)
    mine = [item for item in mine if item.precision >= EVEN and item.recall >= LEAST_GAIN]
    if not mine:
        return 0.0, []
    steepest = max(item.ratio - 1 for item in mine[:3])
    chosen = [item for item in mine if item.ratio - 1 >= STEEP * steepest][:MOST_ELEMENTS]
    recall = min(sum(item.recall for item in chosen), 1.0)
    weight = sum(item.excess for item in chosen)
    precision = sum(item.precision * item.excess for item in chosen) / max(weight, 1e-9)
    f1 = 2 * recall * precision / max(recall + precision, 1e-9)
    return f1 - DIMENSION_COST * len(cuboid) - ELEMENT_COST * (len(chosen) - 1), chosen

"""Finds the segments that hold the excess of bad events, at most two dimensions deep; never names a cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from analytics.rootcause.elements import explained_away, gathered
from analytics.rootcause.leaves import Columns, Leaves, leaves_of
from analytics.rootcause.segment import Contrast, Segment, contrasts, scored

#: Excess must be this many standard deviations of a Poisson count.
SIGMAS = 3.0
#: And this many where the whole did not move: thousands of segments are looked at, and one of them always stands out.
LONE_SIGMAS = 5.5
#: Median of a chi-square variable of one degree of freedom.
CHI_SQUARE_MEDIAN = 0.455
#: Candidates whose precision is computed, the largest by recall and contrast.
CANDIDATES = 48
#: Segments returned.
LIMIT = 20


def localise(counts: Columns, dimensions: Sequence[str], overdispersion: float | None = None) -> list[Segment]:
    """Return the segments that explain why bad events rose, best first.

    `counts` holds the dimension columns and `n_before, bad_before, n_during, bad_during`. Segments of kind `within`
    got worse themselves; of kind `mix` they were always worse and there are more of them now. `{}` is everything.
    Where several elements of the same dimensions carry the rise together, they come first, one after the other.
    Without `overdispersion` it is measured between the leaves.
    """
    return search(leaves_of(counts, dimensions), overdispersion)


def search(leaves: Leaves, overdispersion: float | None = None) -> list[Segment]:
    """Do the search of `localise` on coded leaves."""
    if not len(leaves.n_during) or leaves.n_during.sum() <= 0:
        return []
    within, mix = contrasts(leaves)
    spread = leaf_overdispersion(within) if overdispersion is None else overdispersion
    ranked = {
        within.kind: gathered(rank(leaves, within, spread, lone=True)),
        mix.kind: rank(leaves, mix, spread),
    }
    parts = {
        part.kind: max(
            [float((part.seen - part.expected).sum()), *(item.excess for item in ranked[part.kind][:1]), 0.0]
        )
        for part in (within, mix)
    }
    whole = max(sum(parts.values()), 1e-9)
    found = [
        replace(segment, score=segment.score * (parts[kind] / whole) ** 0.5)
        for kind, segments in ranked.items()
        for segment in segments
    ]
    return sorted(found, key=lambda item: -item.score)[:LIMIT]


def leaf_overdispersion(contrast: Contrast) -> float:
    """Return how much more leaves vary than Poisson counts: the median squared residual, which few elements move."""
    told = contrast.expected >= 1.0
    if told.sum() < 30:
        return 1.0
    seen, expected = contrast.seen[told], contrast.expected[told]
    return float(np.clip(np.median((seen - expected) ** 2 / expected) / CHI_SQUARE_MEDIAN, 1.0, 12.0))


def rank(leaves: Leaves, contrast: Contrast, overdispersion: float = 1.0, *, lone: bool = False) -> list[Segment]:
    """Return the segments whose excess is beyond chance, by F1 of recall and ripple precision.

    With `lone`, a segment may stand out though the whole did not move.
    """
    total = float((contrast.seen - contrast.expected).sum())
    moved = total > SIGMAS * np.sqrt(overdispersion * (contrast.expected.sum() + 1.0))
    if not moved and not lone:
        return []
    sigmas = SIGMAS if moved else LONE_SIGMAS
    promising = sorted(_candidates(leaves, contrast, total, overdispersion, sigmas), key=lambda item: -item[0])
    if not moved:
        total = max([total, *(excess for _, _, excess in promising)])
    found = [scored(leaves, contrast, {}, total)] if moved else []
    found += [scored(leaves, contrast, segment, total) for _, segment, _ in promising[:CANDIDATES]]
    return explained_away(leaves, contrast, sorted(found, key=lambda item: -item.score), overdispersion)


def _candidates(
    leaves: Leaves, contrast: Contrast, total: float, overdispersion: float, sigmas: float
) -> Iterator[tuple[float, dict[str, str], float]]:
    """Yield (promise, segment, excess) of every significant segment of one or two dimensions."""
    useful = [place for place, levels in enumerate(leaves.levels) if len(levels) > 1]
    groups = [(place,) for place in useful] + list(combinations(useful, 2))
    for group in groups:
        key = np.zeros(len(leaves.n_during), dtype=np.int64)
        size = 1
        for place in group:
            key = key * len(leaves.levels[place]) + leaves.codes[place]
            size *= len(leaves.levels[place])
        if size > 4 * len(key) + 1024:
            kept, key = np.unique(key, return_inverse=True)
        else:
            kept = np.arange(size)
        seen = np.bincount(key, weights=contrast.seen, minlength=len(kept))
        expected = np.bincount(key, weights=contrast.expected, minlength=len(kept))
        room = np.bincount(key, weights=contrast.ceiling, minlength=len(kept))
        excess = seen - expected
        strong = (excess > sigmas * np.sqrt(overdispersion * (expected + 1.0))) & (excess > 0.05 * total)
        for index in np.flatnonzero(strong):
            segment = _named(leaves, group, int(kept[index]))
            if segment is not None:
                contrast_here = excess[index] / max(room[index], 1.0)
                share = min(excess[index] / max(total, excess[index]), 1.0)
                yield float(share + 0.5 * contrast_here), segment, float(excess[index])


def _named(leaves: Leaves, group: tuple[int, ...], key: int) -> dict[str, str] | None:
    """Turn a combined code back into levels; a segment of unknowns is no answer."""
    segment: dict[str, str] = {}
    for place in reversed(group):
        key, code = divmod(key, len(leaves.levels[place]))
        level = leaves.levels[place][code]
        if level is None:
            return None
        segment[leaves.dimensions[place]] = level
    return dict(reversed(segment.items()))

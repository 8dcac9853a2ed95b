"""Finds the segments that hold the excess of bad events, at most two dimensions deep; never names a cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analytics.rootcause.expectation import baseline_rate
from analytics.rootcause.leaves import Columns, FloatArray, Leaves, leaves_of

#: A child counts as elevated when it shows this share of its segment's rise (prototype: .86 top-1 against .63 without).
ELEVATED_SHARE = 0.35
#: Taken off the score for each dimension that a segment names, so that the simpler of two equals wins.
DIMENSION_COST = 0.03
#: Excess must be this many standard deviations of a Poisson count.
SIGMAS = 3.0
#: Candidates whose precision is computed, the largest by recall and contrast.
CANDIDATES = 48
#: Segments returned.
LIMIT = 20


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment with its share of the excess (`recall`), how evenly its children carry it (`precision`) and F1."""

    segment: dict[str, str]
    score: float
    excess: float
    recall: float
    precision: float
    kind: str
    ratio: float

    def as_json(self) -> dict[str, object]:
        return {
            "segment": self.segment,
            "score": round(self.score, 4),
            "excess": round(self.excess, 3),
            "recall": round(self.recall, 4),
            "precision": round(self.precision, 4),
            "kind": self.kind,
            "ratio": round(self.ratio, 4),
        }


@dataclass(frozen=True, slots=True)
class Contrast:
    """What a search compares in each leaf: events seen, events expected, and the most there could be."""

    seen: FloatArray
    expected: FloatArray
    ceiling: FloatArray
    kind: str


def localise(counts: Columns, dimensions: Sequence[str], overdispersion: float = 1.0) -> list[Segment]:
    """Return the segments that explain why bad events rose, best first.

    `counts` holds the dimension columns and `n_before, bad_before, n_during, bad_during`. Segments of kind `within`
    got worse themselves; of kind `mix` they were always worse and there are more of them now. `{}` is everything.
    """
    return search(leaves_of(counts, dimensions), overdispersion)


def search(leaves: Leaves, overdispersion: float = 1.0) -> list[Segment]:
    """Do the search of `localise` on coded leaves."""
    if not len(leaves.n_during) or leaves.n_during.sum() <= 0:
        return []
    within, mix = contrasts(leaves)
    parts = {part.kind: max(float((part.seen - part.expected).sum()), 0.0) for part in (within, mix)}
    whole = sum(parts.values())
    if whole <= 0:
        return []
    found = []
    for part in (within, mix):
        weight = (parts[part.kind] / whole) ** 0.5
        found += [_weighed(segment, weight) for segment in rank(leaves, part, overdispersion)]
    return sorted(found, key=lambda item: -item.score)[:LIMIT]


def contrasts(leaves: Leaves) -> tuple[Contrast, Contrast]:
    """Return (within, mix): seen against expected at today's mix, and today's mix against yesterday's."""
    rate = baseline_rate(leaves)
    at_mix = leaves.n_during * rate
    scale = leaves.n_during.sum() / max(leaves.n_before.sum(), 1.0)
    within = Contrast(leaves.bad_during, at_mix, leaves.n_during, "within")
    mix = Contrast(at_mix, leaves.n_before * scale * rate, leaves.n_during, "mix")
    return within, mix


def rank(leaves: Leaves, contrast: Contrast, overdispersion: float = 1.0) -> list[Segment]:
    """Return the segments whose excess is beyond chance, by F1 of recall and ripple precision."""
    total = float((contrast.seen - contrast.expected).sum())
    if total <= SIGMAS * np.sqrt(overdispersion * (contrast.expected.sum() + 1.0)):
        return []
    found = [_scored(leaves, contrast, {}, total)]
    picked = sorted(_candidates(leaves, contrast, total, overdispersion), key=lambda item: -item[0])[:CANDIDATES]
    found += [_scored(leaves, contrast, segment, total) for _, segment in picked]
    return sorted(found, key=lambda item: -item.score)


def score_of(leaves: Leaves, contrast: Contrast, segment: dict[str, str]) -> Segment:
    """Return one given segment scored as `rank` would score it, significant or not."""
    total = float((contrast.seen - contrast.expected).sum())
    return _scored(leaves, contrast, segment, max(total, 1e-9))


def _weighed(segment: Segment, weight: float) -> Segment:
    return Segment(
        segment.segment,
        segment.score * weight,
        segment.excess,
        segment.recall,
        segment.precision,
        segment.kind,
        segment.ratio,
    )


def _candidates(
    leaves: Leaves, contrast: Contrast, total: float, overdispersion: float
) -> Iterator[tuple[float, dict[str, str]]]:
    """Yield (promise, segment) of every significant segment of one or two dimensions."""
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
        strong = (excess > SIGMAS * np.sqrt(overdispersion * (expected + 1.0))) & (excess > 0.05 * total)
        for index in np.flatnonzero(strong):
            segment = _named(leaves, group, int(kept[index]))
            if segment is not None:
                contrast_here = excess[index] / max(room[index], 1.0)
                yield float(min(excess[index] / total, 1.0) + 0.5 * contrast_here), segment


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


def _scored(leaves: Leaves, contrast: Contrast, segment: dict[str, str], total: float) -> Segment:
    inside = leaves.mask(segment)
    seen, expected, room = (
        float(values[inside].sum()) for values in (contrast.seen, contrast.expected, contrast.ceiling)
    )
    excess = seen - expected
    recall = float(np.clip(excess / total, 0.0, 1.0)) if total > 0 else 0.0
    precision = _ripple(leaves, contrast, segment, inside, (seen, expected, room)) if excess > 0 else 0.0
    both = recall + precision
    f1 = 2 * recall * precision / both if both > 0 else 0.0
    return Segment(
        segment,
        f1 - DIMENSION_COST * len(segment),
        excess,
        recall,
        precision,
        contrast.kind,
        seen / max(expected, 1e-9),
    )


def _ripple(
    leaves: Leaves,
    contrast: Contrast,
    segment: dict[str, str],
    inside: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    sums: tuple[float, float, float],
) -> float:
    """Return the smallest share, over the other dimensions, of the segment's events in children that rose as well.

    A child rose when its ratio, or the share of its headroom that was used, is ELEVATED_SHARE of the segment's. The
    headroom keeps saturated segments in play. Children with less than one expected excess event say nothing.
    """
    seen, expected, room = sums
    ratio = seen / max(expected, 1e-9)
    used = (seen - expected) / max(room - expected, 1e-9)
    smallest = 1.0
    for place, levels in enumerate(leaves.levels):
        if leaves.dimensions[place] in segment or len(levels) < 2:
            continue
        codes = leaves.codes[place][inside]
        c = np.bincount(codes, weights=contrast.seen[inside], minlength=len(levels))
        e = np.bincount(codes, weights=contrast.expected[inside], minlength=len(levels))
        n = np.bincount(codes, weights=contrast.ceiling[inside], minlength=len(levels))
        telling = np.minimum(e * (ratio - 1.0), n - e) >= 1.0
        if not telling.any():
            continue
        rose = (c > e * (1 + ELEVATED_SHARE * (ratio - 1.0))) | ((c - e) > ELEVATED_SHARE * used * (n - e))
        smallest = min(smallest, float(n[telling & rose].sum() / max(n[telling].sum(), 1e-9)))
    return smallest

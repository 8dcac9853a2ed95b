"""Scores one segment of a table of counts: how much of the rise it holds, and how evenly; never searches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analytics.rootcause.expectation import baseline_rate
from analytics.rootcause.leaves import FloatArray, Leaves

#: A child counts as elevated when it shows this share of its segment's rise (prototype: .86 top-1 against .63 without).
ELEVATED_SHARE = 0.35
#: Taken off the score for each dimension that a segment names, so that the simpler of two equals wins.
DIMENSION_COST = 0.03


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


def contrasts(leaves: Leaves) -> tuple[Contrast, Contrast]:
    """Return (within, mix): seen against expected at today's mix, and today's mix against yesterday's."""
    rate = baseline_rate(leaves)
    at_mix = leaves.n_during * rate
    scale = leaves.n_during.sum() / max(leaves.n_before.sum(), 1.0)
    within = Contrast(leaves.bad_during, at_mix, leaves.n_during, "within")
    mix = Contrast(at_mix, leaves.n_before * scale * rate, leaves.n_during, "mix")
    return within, mix


def score_of(leaves: Leaves, contrast: Contrast, segment: dict[str, str]) -> Segment:
    """Return one given segment scored as `rank` would score it, significant or not."""
    total = float((contrast.seen - contrast.expected).sum())
    return scored(leaves, contrast, segment, max(total, 1e-9))


def scored(leaves: Leaves, contrast: Contrast, segment: dict[str, str], total: float) -> Segment:
    """Return a segment scored against a `total` excess."""
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
    segment: Mapping[str, str],
    inside: npt.NDArray[np.bool_],
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

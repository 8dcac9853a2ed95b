"""How likely a turn is followed by another, and after how long, from intervals that may be cut off by the window's end.

Kaplan and Meier's estimator (1958), with Greenwood's variance for the share that ever returns; never sees a session.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np

from analytics.planners.form import Estimate, Named, PlannerInputs
from analytics.planners.observed.intervals import CONFIDENCE, share_of
from analytics.planners.observed.measures import Measure
from analytics.planners.observed.telemetry import Floats, Telemetry, column, texts, total

__all__ = ["QUERIES", "Survival", "first_turns", "return_ratio", "return_seconds", "survival"]

QUERIES = ("plan_reuse_sessions", "plan_reuse_prefixes")
_PERCENTILES = (0, 10, 25, 50, 75, 90, 99, 100)
#: Bins are ten to a factor of e (see the SQL).
_BINS_PER_E = 10
#: Below this many still watched, the tail says nothing.
_LEAST_AT_RISK = 20


@dataclass(frozen=True, slots=True)
class Survival:
    """Upper edges of bins in seconds, the share not yet returned by each, and the variance of the last share."""

    seconds: Floats
    waiting: Floats
    variance: float
    turns: float


def survival(bins: Floats, returned: Floats, counts: Floats) -> Survival | None:
    """Return the survival of reuse intervals from binned counts: returned (1) or cut off by the window's end (0)."""
    if len(bins) == 0:
        return None
    edges = np.arange(bins.min(), bins.max() + 1)
    place = (bins - bins.min()).astype(np.int64)
    events = np.bincount(place, weights=counts * returned, minlength=len(edges))
    cut = np.bincount(place, weights=counts * (1 - returned), minlength=len(edges))
    at_risk = np.cumsum((events + cut)[::-1])[::-1]
    # Those cut off within a bin were watched for half of it.
    exposed = np.maximum(at_risk - cut / 2, 1e-9)
    kept = at_risk >= _LEAST_AT_RISK
    if not kept.any():
        return None
    hazard = np.minimum(1.0, events[kept] / exposed[kept])
    waiting = np.cumprod(1 - hazard)
    spread = np.sum(np.where(hazard < 1, hazard / np.maximum((1 - hazard) * exposed[kept], 1e-9), 0.0))
    variance = float(waiting[-1] ** 2 * spread)
    return Survival(np.exp((edges[kept] + 1) / _BINS_PER_E), waiting, variance, float(counts.sum()))


def _of(telemetry: Telemetry, kind: str) -> Survival | None:
    for query in QUERIES:
        kinds = texts(telemetry, query, "kind")
        if kinds:
            keep = np.array([each == kind for each in kinds], dtype=bool)
            return survival(
                column(telemetry, query, "bin")[keep],
                column(telemetry, query, "returned")[keep],
                column(telemetry, query, "turns")[keep],
            )
    return None


def return_ratio(kind: str) -> Measure:
    """Measure the share of first or later turns that another one follows."""

    def measure(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
        found = _of(telemetry, kind)
        if found is None:
            return None
        share = 1 - float(found.waiting[-1])
        half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * sqrt(found.variance)
        basis = f"reuse intervals of {found.turns:,.0f} {kind} turns, those cut off by the window's end allowed for"
        return Estimate(share, max(0.0, share - half), min(1.0, share + half), basis)

    return measure


def return_seconds(kind: str) -> Measure:
    """Measure the time to the next turn, where there is one, at percentiles."""

    def measure(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
        found = _of(telemetry, kind)
        if found is None or found.waiting[-1] >= 1:
            return None
        back = (1 - found.waiting) / (1 - found.waiting[-1])
        at: Named = tuple(
            (str(level), float(found.seconds[min(int(np.searchsorted(back, level / 100)), len(back) - 1)]))
            for level in _PERCENTILES
        )
        return Estimate(at, None, None, f"reuse intervals of {found.turns:,.0f} {kind} turns")

    return measure


def first_turns(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure the share of turns that open a session (or use a block for the first time)."""
    for query in QUERIES:
        kinds, counts = texts(telemetry, query, "kind"), column(telemetry, query, "turns")
        if kinds:
            first = total(counts[np.array([each == "first" for each in kinds], dtype=bool)])
            return share_of(first, total(counts), f"{total(counts):,.0f} turns")
    return None

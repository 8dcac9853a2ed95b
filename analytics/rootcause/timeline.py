"""Lays a metric out in time: events and bad events per step, the threshold of bad, and which steps were calm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analytics.rootcause.leaves import FloatArray, IntArray

#: A P99 needs a thousand events (ten beyond it); fewer allow a P95 and then a P90.
QUANTILES = ((1000.0, 0.99), (100.0, 0.95), (0.0, 0.90))
#: Steps are as long as gives a window six of them, from this list.
STEPS_SECONDS = (60, 30, 15, 10, 5, 2, 1)
#: A baseline of fewer events than this says nothing.
SMALLEST_BASELINE = 20.0


@dataclass(frozen=True, slots=True)
class Timeline:
    """`counts[s, b]` events in step `first + s` with a value of at most `edges[b]`; the last edge is infinite.

    For ratio metrics there are two columns, good and bad, and the edges are (0, inf).
    """

    step_seconds: int
    first: int
    counts: FloatArray
    edges: FloatArray

    @property
    def total(self) -> FloatArray:
        summed: FloatArray = self.counts.sum(axis=1)
        return summed

    @property
    def last(self) -> int:
        """Return the step after the newest one."""
        return self.first + len(self.counts)

    def bad(self, threshold: float) -> FloatArray:
        """Return the events per step above `threshold`, which should be one of the edges."""
        summed: FloatArray = self.counts[:, self.edges > threshold * (1 + 1e-9)].sum(axis=1)
        return summed

    def mask(self, steps: IntArray) -> npt.NDArray[np.bool_]:
        """Return which rows are in `steps`."""
        return np.isin(np.arange(self.first, self.last), steps)

    def quantile(self, share: float, rows: npt.NDArray[np.bool_]) -> float | None:
        """Return the edge under which at least `share` of the events in `rows` lie; None without events."""
        summed = self.counts[rows].sum(axis=0)
        if summed.sum() <= 0:
            return None
        place = int(np.searchsorted(np.cumsum(summed), share * summed.sum() - 1e-9))
        return float(self.edges[min(place, len(self.edges) - 1)])


def timeline_of(steps: IntArray, edges: FloatArray, counts: FloatArray, step_seconds: int) -> Timeline | None:
    """Arrange rows (step, upper edge, count) as a Timeline without gaps; None without rows."""
    if not len(steps):
        return None
    first = int(steps.min())
    known = np.unique(np.append(edges, np.inf))
    table = np.zeros((int(steps.max()) - first + 1, len(known)))
    np.add.at(table, (steps - first, np.searchsorted(known, edges)), counts)
    return Timeline(step_seconds, first, table, known)


def step_for(seconds: float) -> int:
    """Return the step that gives a window of `seconds` at least six steps, 1 to 60 s."""
    return next((step for step in STEPS_SECONDS if seconds / step >= 6), STEPS_SECONDS[-1])


def threshold_of(timeline: Timeline, rows: npt.NDArray[np.bool_]) -> float | None:
    """Return the value that only the usual tail exceeds: a high quantile of the calmer half of the steps in `rows`.

    Steps are ordered by the share of their events above the overall median and 90th percentile, so an incident that
    fills up to half of the history does not set its own threshold.
    """
    counts = timeline.counts[rows]
    total = counts.sum(axis=1)
    if total.sum() <= 0:
        return None
    cumulated = np.cumsum(counts.sum(axis=0))
    places = [int(np.searchsorted(cumulated, share * cumulated[-1])) for share in (0.5, 0.9)]
    above = sum(counts[:, place + 1 :].sum(axis=1) for place in places) / np.maximum(total, 1.0)
    order = np.argsort(above, kind="stable")
    order = order[total[order] > 0]
    reach = int(np.searchsorted(np.cumsum(total[order]), 0.5 * total.sum())) + 1
    calm = counts[order[:reach]].sum(axis=0)
    share = next(quantile for least, quantile in QUANTILES if calm.sum() >= least)
    place = int(np.searchsorted(np.cumsum(calm), share * calm.sum() - 1e-9))
    if np.isinf(timeline.edges[place]) and place > 0:
        place -= 1
    return float(timeline.edges[place])


def calm_steps(timeline: Timeline, rows: npt.NDArray[np.bool_], threshold: float) -> IntArray:
    """Return the steps in `rows` whose bad events are within what the rest of `rows` makes likely.

    Where that would throw most of the history away, the history is not calm and all of it is returned.
    """
    total, bad = timeline.total, timeline.bad(threshold)
    share = _typical(total[rows], bad[rows])
    expected = total * share
    usual = bad <= np.maximum(expected + 4 * np.sqrt(expected + 1.0), 3.0)
    kept = rows & usual
    if total[kept].sum() < 0.3 * total[rows].sum():
        kept = rows
    return np.arange(timeline.first, timeline.last)[kept]


def _typical(total: FloatArray, bad: FloatArray) -> float:
    """Return the bad share of the better three quarters of the steps, a share that a past incident does not raise."""
    used = total > 0
    if not used.any():
        return 0.0
    shares = bad[used] / total[used]
    order = np.argsort(shares, kind="stable")
    kept = order[: max(int(0.75 * len(order)), 1)]
    return float(bad[used][kept].sum() / total[used][kept].sum()) + 0.005

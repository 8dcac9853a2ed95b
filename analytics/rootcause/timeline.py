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
SMALLEST_BASELINE = 15.0
#: Nor does a calm part of fewer than this; then all of the history has to do.
SMALLEST_CALM = 10.0
#: Silence this long parts the last hours from the same time on earlier days.
PART_SECONDS = 6 * 3600
#: History is judged calm or not in blocks of this many events or more, at most so many blocks.
BLOCK_EVENTS, BLOCKS = 15.0, 24
#: Part of the time that the threshold is read from.
CALM_SHARE = 1 / 3
#: A block with this many standard deviations more bad events than the calmest third makes likely is left out.
UNUSUAL_SIGMAS = 4.0


@dataclass(frozen=True, slots=True)
class Timeline:
    """`counts[s, b]` events in step `steps[s]` with a value of at most `edges[b]`; the last edge is infinite.

    Steps are whole parts of history without gaps (the last hours, the same time yesterday, last week), in order. For
    ratio metrics there are two columns, good and bad, and the edges are (0, inf).
    """

    step_seconds: int
    steps: IntArray
    counts: FloatArray
    edges: FloatArray

    @property
    def total(self) -> FloatArray:
        summed: FloatArray = self.counts.sum(axis=1)
        return summed

    @property
    def first(self) -> int:
        return int(self.steps[0])

    def rows(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return (step, upper edge, events) of everything that was counted."""
        step, edge = np.nonzero(self.counts)
        return self.steps[step], self.edges[edge], self.counts[step, edge]

    @property
    def last(self) -> int:
        """Return the step after the newest one."""
        return int(self.steps[-1]) + 1

    def bad(self, threshold: float) -> FloatArray:
        """Return the events per step above `threshold`, which should be one of the edges."""
        summed: FloatArray = self.counts[:, self.edges > threshold * (1 + 1e-9)].sum(axis=1)
        return summed

    def mask(self, steps: IntArray) -> npt.NDArray[np.bool_]:
        """Return which rows are in `steps`."""
        return np.isin(self.steps, steps)

    def quantile(self, share: float, rows: npt.NDArray[np.bool_]) -> float | None:
        """Return the edge under which at least `share` of the events in `rows` lie; None without events."""
        summed = self.counts[rows].sum(axis=0)
        if summed.sum() <= 0:
            return None
        place = int(np.searchsorted(np.cumsum(summed), share * summed.sum() - 1e-9))
        return float(self.edges[min(place, len(self.edges) - 1)])


def timeline_of(steps: IntArray, edges: FloatArray, counts: FloatArray, step_seconds: int) -> Timeline | None:
    """Arrange rows (step, upper edge, count) as a Timeline; None without rows.

    Steps without events are filled in, except across gaps of PART_SECONDS or more, which part one stretch of history
    from the next.
    """
    if not len(steps):
        return None
    seen = np.unique(steps)
    breaks = np.flatnonzero(np.diff(seen) * step_seconds >= PART_SECONDS)
    starts = [int(seen[0]), *(int(step) for step in seen[breaks + 1])]
    ends = [*(int(step) + 1 for step in seen[breaks]), int(seen[-1]) + 1]
    every = np.concatenate([np.arange(first, last) for first, last in zip(starts, ends, strict=True)])
    known = np.unique(np.append(edges, np.inf))
    table = np.zeros((len(every), len(known)))
    np.add.at(table, (np.searchsorted(every, steps), np.searchsorted(known, edges)), counts)
    return Timeline(step_seconds, every, table, known)


def step_for(seconds: float) -> int:
    """Return the step that gives a window of `seconds` at least six steps, 1 to 60 s."""
    return next((step for step in STEPS_SECONDS if seconds / step >= 6), STEPS_SECONDS[-1])


def threshold_of(timeline: Timeline, rows: npt.NDArray[np.bool_]) -> float | None:
    """Return the value that only the usual tail exceeds: a high quantile of the calmest third of the time in `rows`.

    The time is cut into blocks of enough events; blocks are ordered by their share of events above the median and the
    90th percentile of the whole time, so that an incident that fills up to half of the history does not set its own
    threshold.
    """
    counts = timeline.counts[rows]
    total = counts.sum(axis=1)
    if total.sum() <= 0:
        return None
    summed = _calm(counts).sum(axis=0)
    share = next(quantile for least, quantile in QUANTILES if summed.sum() >= least)
    place = int(np.searchsorted(np.cumsum(summed), share * summed.sum() - 1e-9))
    while np.isinf(timeline.edges[place]) and place > 0:
        place -= 1
    return float(timeline.edges[place])


def _calm(counts: FloatArray) -> FloatArray:
    """Return the rows of the calmest blocks, a third of the time."""
    block = _blocks(counts.sum(axis=1))
    blocks = int(block[-1]) + 1
    if blocks < 3:
        return counts
    first = np.flatnonzero(np.diff(block, prepend=-1))
    summed = np.add.reduceat(counts, first, axis=0)
    shares = summed / np.maximum(summed.sum(axis=1, keepdims=True), 1.0)
    length = np.bincount(block, minlength=blocks)
    # Weighed by time: a burst holds more events than the calm around it, and would set its own median.
    cumulated = np.cumsum(length @ shares)
    above = np.zeros(blocks)
    for share in (0.5, 0.9):
        place = int(np.searchsorted(cumulated, share * cumulated[-1]))
        above += shares[:, place + 1 :].sum(axis=1)
    order = np.argsort(above, kind="stable")
    reach = int(np.searchsorted(np.cumsum(length[order]), CALM_SHARE * length.sum())) + 1
    return counts[np.isin(block, order[:reach])]


def _blocks(total: FloatArray) -> IntArray:
    """Number consecutive rows in blocks of at least BLOCK_EVENTS events, about BLOCKS of them."""
    least = max(BLOCK_EVENTS, total.sum() / BLOCKS / 4)
    longest = max(len(total) // BLOCKS, 1)
    block = np.zeros(len(total), dtype=np.int64)
    number, events, length = 0, 0.0, 0
    for row in range(len(total)):
        if events >= least and (length >= longest or events >= 4 * least):
            number, events, length = number + 1, 0.0, 0
        block[row] = number
        events += float(total[row])
        length += 1
    return block


def calm_steps(timeline: Timeline, rows: npt.NDArray[np.bool_], threshold: float) -> IntArray:
    """Return the steps in `rows` whose bad events are within what the calmest third of `rows` makes likely.

    Where that would throw most of the history away, the history is not calm and all of it is returned.
    """
    total, bad = timeline.total[rows], timeline.bad(threshold)[rows]
    calm = _calm(timeline.counts[rows])
    bad_in_calm = float(calm[:, timeline.edges > threshold * (1 + 1e-9)].sum())
    share = (bad_in_calm + 1.0) / (float(calm.sum()) + 1.0)
    block = _blocks(timeline.counts[rows].sum(axis=1))
    seen, expected = np.bincount(block, weights=bad), np.bincount(block, weights=total) * share
    usual = seen <= expected + UNUSUAL_SIGMAS * np.sqrt(expected + 0.5)
    kept = rows.copy()
    kept[rows] = usual[block]
    if timeline.total[kept].sum() < SMALLEST_CALM:
        kept = rows
    return timeline.steps[kept]

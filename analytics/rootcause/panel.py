"""Arranges samples as one array (source, time step) a signal and compares before with during; never fills a gap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analytics.rootcause.leaves import Columns, FloatArray, IntArray
from analytics.rootcause.shift import Shift, shift_of


@dataclass(frozen=True, slots=True)
class Panel:
    """`values[signal]` has shape (sources, steps), NaN where nothing was sampled; masks choose steps."""

    sources: tuple[str, ...]
    values: Mapping[str, FloatArray]
    before: npt.NDArray[np.bool_]
    during: npt.NDArray[np.bool_]

    def has(self, *signals: str) -> bool:
        """Say whether every signal was sampled both before and during, by any source."""
        return all(
            signal in self.values
            and bool(np.isfinite(self.values[signal][:, self.before]).any())
            and bool(np.isfinite(self.values[signal][:, self.during]).any())
            for signal in signals
        )

    def shift(self, signal: str, source: str | None = None) -> Shift | None:
        """Compare a gauge's level, of one source or averaged over the sources that were sampled in each step."""
        if signal not in self.values:
            return None
        series = _mean(self.values[signal][self._rows(source)])
        return shift_of(signal, series[self.before], series[self.during])

    def total(self, signal: str, source: str | None = None) -> Shift | None:
        """Compare a gauge or increment added over the sources, per step."""
        if signal not in self.values:
            return None
        block = self.values[signal][self._rows(source)]
        series = np.where(np.isfinite(block).any(axis=0), np.nansum(block, axis=0), np.nan)
        return shift_of(signal, series[self.before], series[self.during])

    def quotient(self, name: str, top: str, bottom: str, source: str | None = None) -> Shift | None:
        """Compare Σ top ÷ Σ bottom, e.g. hit tokens over queried tokens; steps without a bottom say nothing."""
        if top not in self.values or bottom not in self.values:
            return None
        rows = self._rows(source)
        upper, lower = self.values[top][rows], self.values[bottom][rows]
        known = np.isfinite(upper) & np.isfinite(lower)
        u, v = np.where(known, upper, 0.0).sum(axis=0), np.where(known, lower, 0.0).sum(axis=0)
        series = np.divide(u, v, out=np.full(len(v), np.nan), where=v > 0)
        found = shift_of(name, series[self.before], series[self.during])
        if found is None:
            return None
        old = u[self.before].sum() / v[self.before].sum()
        new = u[self.during].sum() / v[self.during].sum()
        return Shift(name, float(old), float(new), found.spread, found.low, found.peak)

    def by_source(self, signal: str) -> dict[str, Shift]:
        """Return the shift of every source that has one."""
        found = {source: self.shift(signal, source) for source in self.sources}
        return {source: shift for source, shift in found.items() if shift is not None}

    def _rows(self, source: str | None) -> npt.NDArray[np.bool_]:
        return np.array([source is None or name == source for name in self.sources], dtype=bool)


def _mean(block: FloatArray) -> FloatArray:
    known = np.isfinite(block)
    count = known.sum(axis=0)
    total = np.where(known, block, 0.0).sum(axis=0)
    mean: FloatArray = np.divide(total, count, out=np.full(block.shape[1], np.nan), where=count > 0)
    return mean


def panel_of(columns: Columns, source: str, signals: Iterable[str], before: IntArray, during: IntArray) -> Panel:
    """Arrange rows (`step`, `source`, signals…) as a Panel over the steps of `before` and `during`.

    Rows of one source in one step must have been reduced to one; rows with an unknown source are left out.
    """
    names = columns.get(source, np.array([], dtype=object))
    kept = np.array([value is not None for value in names], dtype=bool)
    steps = np.concatenate([before, during])
    place = {int(step): index for index, step in enumerate(steps)}
    sources = tuple(sorted({str(value) for value in names[kept]}))
    row = {name: index for index, name in enumerate(sources)}
    rows = np.array([row[str(value)] for value in names[kept]], dtype=np.int64)
    where = (
        np.array([place.get(int(step), -1) for step in columns["step"][kept]], dtype=np.int64)
        if len(names)
        else np.array([], dtype=np.int64)
    )
    inside = where >= 0
    values = {}
    for signal in signals:
        dense = np.full((len(sources), len(steps)), np.nan)
        if signal in columns and len(rows):
            dense[rows[inside], where[inside]] = columns[signal][kept][inside].astype(np.float64)
        values[signal] = dense
    mask = np.arange(len(steps)) < len(before)
    return Panel(sources, values, mask, ~mask)

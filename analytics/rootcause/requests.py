"""Answers questions about the requests before and during, from sums by cell; a sum nobody recorded stays unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analytics.rootcause.leaves import Columns, FloatArray
from analytics.rootcause.shift import Shift

Mask = npt.NDArray[np.bool_]
#: Codes of each cell and the level that each code stands for; None = unknown.
Coded = tuple[npt.NDArray[np.int64], tuple[str | None, ...]]


@dataclass(frozen=True, slots=True)
class Requests:
    """Cells of requests with their phase; `seconds` is how long each phase was observed."""

    cells: Columns
    seconds: Mapping[str, float]
    coded: Mapping[str, Coded]
    phases: Mapping[str, Mask]

    def phase(self, name: str) -> Mask:
        return self.phases[name]

    def inside(self, segment: Mapping[str, str]) -> Mask:
        """Return the cells of a segment; levels are compared as text."""
        mask = np.ones(len(self.phases["during"]), dtype=bool)
        for dimension, level in segment.items():
            codes, levels = self.coded[dimension]
            mask &= codes == (levels.index(level) if level in levels else -1)
        return mask

    def sum(self, phase: str, column: str, mask: Mask | None = None) -> float:
        """Return a column's sum over a phase (and a mask of cells); unknown counts as nothing recorded."""
        if column not in self.cells:
            return 0.0
        chosen = self.phase(phase) if mask is None else self.phase(phase) & mask
        return float(np.nansum(self.cells[column][chosen].astype(np.float64)))

    def rate(self, column: str, mask: Mask | None = None) -> Shift | None:
        """Compare a column per second of observation."""
        if self.seconds["before"] <= 0 or self.seconds["during"] <= 0:
            return None
        return Shift(
            f"{column}_per_second",
            self.sum("before", column, mask) / self.seconds["before"],
            self.sum("during", column, mask) / self.seconds["during"],
        )

    def quotient(self, name: str, top: str, bottom: str, mask: Mask | None = None) -> Shift | None:
        """Compare Σ top ÷ Σ bottom; None where the bottom is empty in either phase."""
        below = [self.sum(phase, bottom, mask) for phase in ("before", "during")]
        if min(below) <= 0:
            return None
        return Shift(
            name, *(self.sum(phase, top, mask) / low for phase, low in zip(("before", "during"), below, strict=True))
        )

    def adjusted(self, name: str, top: str, bottom: str, over: str, mask: Mask | None = None) -> Shift | None:
        """Compare Σ top ÷ Σ bottom at the mix of levels of `over` during: longer prompts alone move nothing.

        Levels without history are left out of both sides.
        """
        codes, levels = self.coded[over]
        chosen = np.ones(len(codes), dtype=bool) if mask is None else mask
        before, during = self.phase("before") & chosen, self.phase("during") & chosen
        old_top, old_bottom = (self._by(codes, levels, column, before) for column in (top, bottom))
        new_top, new_bottom = (self._by(codes, levels, column, during) for column in (top, bottom))
        shared = (old_bottom > 0) & (new_bottom > 0)
        if not shared.any():
            return None
        expected = float((new_bottom[shared] * old_top[shared] / old_bottom[shared]).sum())
        seen, weight = float(new_top[shared].sum()), float(new_bottom[shared].sum())
        return Shift(name, expected / weight, seen / weight)

    def levels(self, dimension: str) -> list[str]:
        """Return the known levels of a dimension, in order."""
        return sorted(level for level in self.coded[dimension][1] if level is not None)

    def shares(self, dimension: str, column: str = "requests") -> dict[str, tuple[float, float]]:
        """Return each known level's share of a column (before, during)."""
        codes, names = self.coded[dimension]
        parts = {phase: self._by(codes, names, column, self.phase(phase)) for phase in ("before", "during")}
        whole = {phase: max(float(part.sum()), 1e-9) for phase, part in parts.items()}
        return {
            name: (float(parts["before"][i]) / whole["before"], float(parts["during"][i]) / whole["during"])
            for i, name in enumerate(names)
            if name is not None
        }

    def _by(self, codes: npt.NDArray[np.int64], levels: tuple[str | None, ...], column: str, mask: Mask) -> FloatArray:
        values = (
            np.nan_to_num(self.cells[column].astype(np.float64))[mask]
            if column in self.cells
            else np.zeros(int(mask.sum()))
        )
        return np.bincount(codes[mask], weights=values, minlength=len(levels)).astype(np.float64)


def requests_of(cells: Columns, dimensions: Iterable[str], seconds: Mapping[str, float]) -> Requests:
    """Code the dimension columns of `cells` once; a dimension that is not a column has one unknown level."""
    size = len(cells["phase"])
    coded = {name: _code(cells[name]) if name in cells else _unknown(size) for name in dimensions}
    phases = {name: np.asarray(cells["phase"] == name, dtype=bool) for name in ("before", "during")}
    return Requests(cells, seconds, coded, phases)


def _code(values: npt.NDArray[np.generic]) -> Coded:
    order: dict[str | None, int] = {}
    texts = [None if value is None or value != value else str(value) for value in values.tolist()]
    codes = np.fromiter((order.setdefault(text, len(order)) for text in texts), dtype=np.int64, count=len(texts))
    return codes, tuple(order)


def _unknown(size: int) -> Coded:
    return np.zeros(size, dtype=np.int64), (None,)

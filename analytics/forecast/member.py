"""The form of a point forecaster: causal paths in the past, one path ahead; bands are not its business."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from analytics.forecast.history import FloatArray, History, IntArray

if TYPE_CHECKING:
    from analytics.forecast.calibration import Calibration


class Fitted(Protocol):
    """A member that has learnt from one history."""

    @property
    def past(self) -> FloatArray:
        """Forecasts at the calibration's (origins, leads), each from what was known at its origin; NaN = cannot say."""

    def ahead(self, history: History, steps: int) -> FloatArray:
        """Return the path of `steps` steps after the end of `history`, which may be newer than what was learnt from."""


class Member(Protocol):
    """A way to forecast."""

    @property
    def name(self) -> str:
        """What the registry and the explanation call it."""

    def fit(self, history: History, calibration: Calibration) -> Fitted:
        """Return what was learnt; never raises on a short or empty history."""


@dataclass(frozen=True, slots=True)
class FittedFormula:
    """A formula with its past forecasts."""

    formula: Formula
    past: FloatArray

    def ahead(self, history: History, steps: int) -> FloatArray:
        """Return the formula's path from the end of `history`."""
        end = np.array([len(history)], dtype=np.int64)
        path: FloatArray = self.formula.paths(history, end, np.arange(1, steps + 1, dtype=np.int64))[0]
        return path


class Formula(ABC):
    """A member without parameters: subclasses say how to read paths off the history."""

    __slots__ = ()

    @abstractmethod
    def paths(self, history: History, origins: IntArray, leads: IntArray) -> FloatArray:
        """Return forecasts (origins, leads); the one from origin o uses `history.values[:o]` only."""

    def fit(self, history: History, calibration: Calibration) -> FittedFormula:
        """Return the formula with its past forecasts: nothing is estimated."""
        return FittedFormula(self, self.paths(history, calibration.origins, calibration.leads))


def targets(origins: IntArray, leads: IntArray) -> IntArray:
    """Return the step indices that (origins, leads) forecast; lead 1 is the step `origin` itself."""
    return origins[:, None] + leads[None, :] - 1

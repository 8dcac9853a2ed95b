"""The form of a point forecaster: a causal path from any origin; bands, ladder and confidence are not its business."""

from __future__ import annotations

from typing import Protocol

from analytics.forecast.history import FloatArray, History, IntArray


class Member(Protocol):
    """Forecasts paths of demand from many origins at once."""

    @property
    def name(self) -> str:
        """What the registry and the explanation call it."""

    def fit(self, history: History, until: int) -> Member:
        """Return a member whose parameters come from `history.values[:until]` only; itself where it has none."""

    def paths(self, history: History, origins: IntArray, leads: IntArray) -> FloatArray:
        """Return forecasts of shape (origins, leads), NaN where this member cannot say.

        The forecast from origin o uses `history.values[:o]` only; lead 1 is the step o itself.
        """


def targets(origins: IntArray, leads: IntArray) -> IntArray:
    """Return the step indices that (origins, leads) forecast."""
    return origins[:, None] + leads[None, :] - 1

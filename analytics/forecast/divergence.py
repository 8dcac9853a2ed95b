"""Wider bands where days that began like today rose far above the forecast, narrower ones where none did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.analog import Analog
from analytics.forecast.bands import width
from analytics.forecast.calibration import Calibration, across_leads
from analytics.forecast.history import FloatArray, History, IntArray

#: Whose continuations are looked at: more days than a forecast listens to.
LIKE = Analog("like", 21_600, 0.5, ((1, 5.0),))
#: The band grows with this power of the rise over the usual one (each with a little of the usual added, so that no
#: rise is not no band), between two factors. Chosen on the tuning series for the pinball losses at q.9 and q.99.
POWER, LITTLE, LEAST, MOST = 0.35, 0.1, 0.3, 2.0


@dataclass(frozen=True, slots=True)
class Divergence:
    """`past` (origins, leads) is how much wider than usual bands were, about 1; `usual` (leads,) the usual rise."""

    leads: IntArray
    past: FloatArray
    usual: FloatArray

    def ahead(self, point: FloatArray, history: History) -> FloatArray:
        """Return how much wider than usual the band around `point` (steps,) is from the end of `history`."""
        end, leads = np.array([len(history)], dtype=np.int64), np.arange(1, len(point) + 1, dtype=np.int64)
        usual = across_leads(self.usual[:, None], self.leads, len(point))[:, 0]
        grown: FloatArray = _grown(_rise(point[None, :], history, end, leads), usual)[0]
        return grown


def divergence(past: FloatArray, calibration: Calibration, history: History) -> Divergence:
    """Return how much wider than usual bands around `past` (origins, leads) were, each by what was known by then."""
    rise = _rise(past, history, calibration.origins, calibration.leads)
    known = np.isfinite(rise)
    sums, counts = np.where(known, rise, 0.0).cumsum(axis=0), known.cumsum(axis=0)
    usual = np.divide(sums, counts, out=np.full(rise.shape, np.nan), where=counts > 0)
    newest = usual[-1] if len(usual) else np.full(len(calibration.leads), np.nan)
    return Divergence(calibration.leads, _grown(rise, usual), newest)


def _rise(point: FloatArray, history: History, origins: IntArray, leads: IntArray) -> FloatArray:
    """Return how far like days rose above `point` (origins, leads), on average, in `width`."""
    came, weights = LIKE.continued(history, origins, leads)
    weights = np.where(np.isfinite(came), weights, 0.0)
    above = np.maximum(np.where(np.isfinite(came), came, 0.0) - point[..., None], 0.0)
    unit = width(point, history) * weights.sum(axis=-1)
    rise: FloatArray = np.divide((above * weights).sum(axis=-1), unit, out=np.full(point.shape, np.nan), where=unit > 0)
    return rise


def _grown(rise: FloatArray, usual: FloatArray) -> FloatArray:
    told = np.isfinite(rise) & (usual > 0)
    ratio = np.divide(rise + LITTLE * usual, (1 + LITTLE) * usual, out=np.ones(rise.shape), where=told)
    grown: FloatArray = np.clip(ratio, LEAST, MOST) ** POWER
    return grown

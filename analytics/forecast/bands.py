"""How far demand strays from a point forecast, by lead time: rolling conformal quantiles; never a normal curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.history import FloatArray, IntArray

#: Quantiles that are kept; others are interpolated between them.
LEVELS: FloatArray = np.array([0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
#: What residual / sqrt(point x mean) looks like one day ahead where a series has no past of its own.
PRIOR_OFFSETS: FloatArray = np.array([-0.75, -0.6, -0.5, -0.25, 0.0, 0.3, 0.8, 1.2, 2.2])
#: Residuals per lead that weigh as much as the prior.
PRIOR_WEIGHT = 20.0


@dataclass(frozen=True, slots=True)
class Bands:
    """`offsets[l, q]` is added to the point at lead `leads[l]`, times sqrt(point x scale)."""

    leads: IntArray
    offsets: FloatArray
    scale: float
    ceiling: float

    def around(self, point: FloatArray, quantiles: FloatArray) -> FloatArray:
        """Return quantiles (steps, quantiles) around `point` (steps,), ordered, between zero and the ceiling."""
        leads = np.log(np.arange(1, len(point) + 1))
        known = np.log(self.leads)
        by_level = np.stack([np.interp(leads, known, self.offsets[:, q]) for q in range(len(LEVELS))], axis=1)
        wanted = np.stack([np.interp(quantiles, LEVELS, row) for row in by_level])
        width = np.sqrt(np.maximum(point, 0.05 * self.scale) * self.scale)
        found = point[:, None] + wanted * width[:, None]
        order = np.argsort(quantiles)
        found[:, order] = np.maximum.accumulate(found[:, order], axis=1)
        bounded: FloatArray = np.clip(found, 0.0, self.ceiling)
        return bounded


def calibrate(actual: FloatArray, point: FloatArray, leads: IntArray, scale: float, ceiling: float) -> Bands:
    """Return bands from past forecasts: `actual` and `point` are (origins, leads) of equal shape, NaN ignored."""
    width = np.sqrt(np.maximum(point, 0.05 * scale) * scale) if scale > 0 else np.ones_like(point)
    residual = (actual - point) / width
    offsets = np.empty((len(leads), len(LEVELS)))
    for place in range(len(leads)):
        near = residual[:, max(0, place - 1) : place + 2]
        seen = near[np.isfinite(near)]
        trust = len(seen) / (len(seen) + 3 * PRIOR_WEIGHT)
        own = np.quantile(seen, LEVELS) if len(seen) else np.zeros(len(LEVELS))
        offsets[place] = trust * own + (1 - trust) * PRIOR_OFFSETS
    return Bands(leads, offsets, scale, ceiling)

"""How far demand strays from a point forecast, by lead time: rolling conformal quantiles; never a normal curve."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from analytics.forecast.calibration import Calibration, across_leads
from analytics.forecast.history import DAY_SECONDS, FloatArray, History, IntArray
from analytics.forecast.windows import trailing_mean

#: Quantiles that are kept; others are interpolated between them.
LEVELS: FloatArray = np.array([0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
#: Residuals are measured in point^POWER x mean^(1 - POWER): 0 would ignore the level, 1 explodes on bursty tenants.
#: On the tuning series pinball losses at q.9 and q.99 rise with it; a little keeps quiet hours narrower than busy ones.
POWER = 0.05
#: The level below which demand does not narrow the band, as a share of the mean.
FLOOR = 0.05
#: Origins in the first days of a history are left out once it is twice as long.
YOUNG_DAYS = 2
#: Days of residuals that bands are made of.
WINDOW_DAYS = 14
#: A quantile of correlated residuals is too narrow; it is moved outwards by this much over the days that were seen.
#: Chosen on the tuning series so that nominal .1, .9 and .99 hold a day ahead.
OUTWARD: FloatArray = np.array([0.03, 0.05, 0.05, 0.05, 0.0, 0.02, 0.02, 0.02, 0.02])
#: Restless hours come together: this share of the width is fixed, the rest follows how forecasts an hour ahead did in
#: the past hours, over how they usually do. Chosen on the tuning series for the pinball losses at q.9 and q.99.
CALM, RECENT_SECONDS, AHEAD_SECONDS = 0.7, 43_200, 3_600
#: The width is at most this many times the usual one.
WILDEST = 3.0
#: From here on a quantile is the tail, which has its own nudge.
TAIL = 0.99
#: Residuals of leads within this factor make the inner quantiles of a lead, and the outer ones (up to .05, from .95).
NEAR_FACTOR, FAR_FACTOR = 1.6, 6.0
#: Residuals in the same units where a series has no past of its own, by lead in seconds: measured by
#: `python -m benchmarks.forecasting.learn_prior` on forecasts from twelve hours of history.
PRIOR: dict[int, tuple[float, ...]] = {
    600: (-0.95, -0.60, -0.36, -0.14, -0.01, 0.09, 0.24, 0.40, 0.64),
    3600: (-1.27, -0.93, -0.63, -0.33, -0.02, 0.24, 1.16, 1.62, 3.49),
    86400: (-2.09, -1.10, -0.80, -0.35, 0.00, 0.54, 2.16, 3.32, 8.24),
}
#: Days of own residuals that weigh as much as the prior.
PRIOR_DAYS = 0.7
#: No quantile exceeds the highest demand seen by more than this factor, so one wild hour does not double a fleet; and
#: by more than the second while less than `YOUNG_DAYS` of values are known.
CEILING, YOUNG_CEILING = 2.0, 6.0


@dataclass(frozen=True, slots=True)
class Nudge:
    """How much higher (lower where negative) upper quantiles, and the tail, are taken than they are called."""

    upper: float = 0.0
    tail: float = 0.0


@dataclass(frozen=True, slots=True)
class Bands:
    """`offsets[l, q]`, in `width` times `unrest`, is added to the point at lead `leads[l]`."""

    leads: IntArray
    offsets: FloatArray
    unrest: float = 1.0

    def nudged(self, nudge: Nudge) -> Bands:
        """Return bands whose upper quantiles (.75 to .95) and tail are taken higher or lower."""
        offsets = self.offsets.copy()
        upper = LEVELS > 0.5
        moved = np.clip(LEVELS + nudge.upper, 0.5, 0.98)
        wanted = np.where(LEVELS < TAIL, moved, LEVELS + nudge.tail)[upper]
        offsets[:, upper] = np.maximum.accumulate(
            np.stack([np.interp(wanted, LEVELS, row) for row in self.offsets]), axis=1
        )
        return replace(self, offsets=offsets)

    def around(
        self, point: FloatArray, quantiles: FloatArray, history: History, grown: FloatArray | float = 1.0
    ) -> FloatArray:
        """Return quantiles (steps, quantiles) around `point` (steps,), ordered, between zero and the ceiling.

        `grown` is how much wider than usual the band is at each step, see `Divergence`.
        """
        offsets = across_leads(self.offsets, self.leads, len(point))
        wanted = np.stack([np.interp(quantiles, LEVELS, row) for row in offsets]).reshape(len(point), len(quantiles))
        found = point[:, None] + wanted * (self.unrest * grown * width(point, history))[:, None]
        order = np.argsort(quantiles)
        found[:, order] = np.maximum.accumulate(found[:, order], axis=1)
        seen = history.values[np.isfinite(history.values)]
        factor = CEILING if len(seen) >= YOUNG_DAYS * history.day else YOUNG_CEILING
        bounded: FloatArray = np.clip(found, 0.0, factor * float(seen.max()) if len(seen) else np.inf)
        return bounded


def width(point: FloatArray, history: History) -> FloatArray:
    """Return the unit of residuals around `point`."""
    recent = history.values[-WINDOW_DAYS * history.day :]
    recent = recent[np.isfinite(recent)]
    scale = float(recent.mean()) if len(recent) else 0.0
    unit: FloatArray = np.maximum(point, FLOOR * scale) ** POWER * scale ** (1 - POWER)
    return unit


def unrest_of(past: FloatArray, calibration: Calibration, history: History) -> FloatArray:
    """Return, for each origin and for the end of the history, how much wider than usual the band is: about 1."""
    near = calibration.leads * history.step_seconds <= AHEAD_SECONDS
    unit = width(past[:, near], history)
    missed = np.abs(calibration.actual - past)[:, near] / np.where(unit > 0, unit, np.nan)
    known = np.isfinite(missed)
    blank = np.full(len(missed), np.nan)
    sums = np.where(known, missed, 0.0).sum(axis=1)
    error: FloatArray = np.divide(sums, known.sum(axis=1), out=blank, where=known.any(axis=1))
    # What a forecast an hour ahead missed by is known an hour later.
    late = max(1, -(-history.steps(AHEAD_SECONDS) // calibration.spacing))
    origins = np.arange(len(error) + 1, dtype=np.int64) - late + 1
    recent = trailing_mean(error, origins, max(1, history.steps(RECENT_SECONDS) // calibration.spacing))
    usual = trailing_mean(error, origins, len(error) + 1)
    ratio: FloatArray = np.divide(recent, usual, out=np.full(len(recent), np.nan), where=usual > 0)
    grown: FloatArray = np.minimum(CALM + (1 - CALM) * np.where(np.isfinite(ratio), ratio, 1.0), WILDEST)
    return grown


def residuals(past: FloatArray, unit: FloatArray, calibration: Calibration) -> FloatArray:
    """Return (origins, leads) of actual - forecast in `unit`; NaN where either is missing."""
    blank = np.full(past.shape, np.nan)
    found: FloatArray = np.divide(calibration.actual - past, unit, out=blank, where=unit > 0)
    return found


def calibrate(
    residual: FloatArray, calibration: Calibration, history: History, origin: int, places: IntArray | None = None
) -> Bands:
    """Return the bands that were known at `origin`, of all leads or of those at `places` only."""
    leads, origins = calibration.leads, calibration.origins
    wanted = np.arange(len(leads)) if places is None else places
    # What was said when the history was young is no measure of what is said now.
    young = YOUNG_DAYS * history.day if origin > 2 * YOUNG_DAYS * history.day else 0
    first = np.searchsorted(origins, max(young, origin - WINDOW_DAYS * history.day))
    known = np.searchsorted(origins, origin - leads, side="right")
    # A forecast that had not come true at `origin` says nothing yet.
    told = np.where(np.arange(first, len(origins))[:, None] < known[None, :], residual[first:], np.nan)
    prior = _prior(leads * history.step_seconds)
    offsets = prior[wanted]
    outer = (LEVELS <= 0.05) | (LEVELS >= 0.95)
    for row, place in enumerate(wanted):
        distance = np.abs(np.log(leads / leads[place]))
        days = (np.isfinite(told[:, place]).sum() * calibration.spacing * history.step_seconds) / DAY_SECONDS
        inner = _quantiles(told[:, distance <= np.log(NEAR_FACTOR)], days)
        tails = _quantiles(told[:, distance <= np.log(FAR_FACTOR)], days)
        trust = days / (days + PRIOR_DAYS)
        offsets[row] = trust * np.where(outer, tails, inner) + (1 - trust) * prior[place]
    offsets[:, LEVELS == 0.5] = 0.0  # the point is the median; moving it to the residuals' median made errors larger
    offsets[:, LEVELS < 0.5] = np.minimum(offsets[:, LEVELS < 0.5], 0.0)
    offsets[:, LEVELS > 0.5] = np.maximum(offsets[:, LEVELS > 0.5], 0.0)
    return Bands(leads[wanted], offsets)


def _quantiles(told: FloatArray, days: float) -> FloatArray:
    seen = told[np.isfinite(told)]
    if len(seen) == 0:
        return np.zeros(len(LEVELS))
    outward = np.sign(LEVELS - 0.5) * OUTWARD / max(days, 0.5)
    found: FloatArray = np.quantile(seen, np.clip(LEVELS + outward, 0.0, 1.0))
    return found


def _prior(lead_seconds: IntArray) -> FloatArray:
    known = np.log(np.array(list(PRIOR), dtype=np.float64))
    rows = np.array(list(PRIOR.values()))
    return np.stack([np.interp(np.log(lead_seconds), known, rows[:, place]) for place in range(len(LEVELS))], axis=1)

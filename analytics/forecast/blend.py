"""The blend that ships: a weighted median of members, weighed by how each did lately at that lead; explains itself.

A median rather than a mean, because one member that runs away must not take the forecast with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.calibration import Calibration, across_leads
from analytics.forecast.history import FloatArray, History, IntArray
from analytics.forecast.member import Fitted, Member

#: Weights fall with this power of the relative error, up to and beyond an hour ahead. Chosen on the tuning series.
POWER_NEAR, POWER_FAR = 8.0, 4.0
NEAR_SECONDS = 3_600
#: Age at which an old error counts half.
HALF_LIFE_SECONDS = 86_400.0
#: A member below this share of the best one's weight has no say.
LEAST_SHARE = 0.05
#: No member may exceed the highest demand seen by more than this factor.
CEILING = 3.0


@dataclass(frozen=True, slots=True)
class Blend:
    """Members and the name of their blend."""

    name: str
    members: tuple[Member, ...]

    def fit(self, history: History, calibration: Calibration) -> FittedBlend:
        """Fit the members, and weigh them at the end of the history and at every past origin by what was known then."""
        fitted = tuple(member.fit(history, calibration) for member in self.members)
        names = tuple(member.name for member in self.members)
        top = _ceiling(history)
        if len(calibration.origins) == 0:
            weights = np.ones((len(calibration.leads), len(names)))
            return FittedBlend(
                names, fitted, calibration.leads, weights, weights, np.empty((0, len(calibration.leads)))
            )
        paths = np.minimum(np.stack([member.past for member in fitted], axis=-1), top)
        powers = np.where(calibration.leads * history.step_seconds <= NEAR_SECONDS, POWER_NEAR, POWER_FAR)
        error, mass = _decayed(_errors(paths, calibration, history), history, calibration)
        relative, end_error = _relative(error, mass, calibration, len(history))
        weights = _weights(relative, powers)
        return FittedBlend(
            names, fitted, calibration.leads, weights[-1], end_error, weighted_median(paths, weights[:-1])
        )


@dataclass(frozen=True, slots=True)
class FittedBlend:
    """`weights` and `errors` are (leads, members) at the end of the history; `past` as in `Fitted`."""

    names: tuple[str, ...]
    fitted: tuple[Fitted, ...]
    leads: IntArray
    weights: FloatArray
    errors: FloatArray
    past: FloatArray

    def ahead(self, history: History, steps: int) -> FloatArray:
        """Return the weighted median of the members' paths."""
        paths = np.stack([member.ahead(history, steps) for member in self.fitted], axis=-1)
        dense = across_leads(self.weights, self.leads, steps)
        return weighted_median(np.minimum(paths, _ceiling(history)), dense)

    def explain(self, lead: int) -> dict[str, float]:
        """Return the members' shares at a lead of that many steps, largest first; they sum to 1."""
        row = across_leads(self.weights, self.leads, lead)[-1]
        total = row.sum() or 1.0
        order = np.argsort(-row)
        return {self.names[place]: round(float(row[place] / total), 4) for place in order if row[place] > 0}


def weighted_median(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted median over the last axis, interpolated between neighbours; NaN has no weight.

    Each value sits at the middle of its weight, so that two equal weights give the mean of their values.
    """
    weights = np.where(np.isfinite(values), weights, 0.0)
    lonely = weights.sum(axis=-1, keepdims=True) <= 0
    weights = np.where(lonely, np.isfinite(values), weights)
    order = np.argsort(np.where(np.isfinite(values), values, np.inf), axis=-1)
    ranked = np.take_along_axis(values, order, axis=-1)
    share = np.take_along_axis(weights, order, axis=-1)
    total = share.sum(axis=-1, keepdims=True)
    reached = share.cumsum(axis=-1) >= 0.5 * total
    place = reached.argmax(axis=-1)[..., None]
    found: FloatArray = np.take_along_axis(ranked, place, axis=-1)[..., 0]
    return np.where(total[..., 0] > 0, found, np.nan)


def _ceiling(history: History) -> float:
    seen = history.values[np.isfinite(history.values)]
    return CEILING * float(seen.max()) if len(seen) else 0.0


def _errors(paths: FloatArray, calibration: Calibration, history: History) -> FloatArray:
    """Return absolute errors (origins, leads, members) over the root of the level: peaks must not decide alone."""
    seen = history.values[np.isfinite(history.values)]
    scale = float(seen.mean()) if len(seen) and seen.mean() > 0 else 1.0
    level = np.nan_to_num(weighted_median(paths, np.ones_like(paths)))
    errors: FloatArray = np.abs(paths - calibration.actual[..., None]) / np.sqrt(level + 0.05 * scale)[..., None]
    return errors


def _decayed(errors: FloatArray, history: History, calibration: Calibration) -> tuple[FloatArray, FloatArray]:
    """Return exponentially decayed sums of errors and of their weights up to each origin, pooled over near leads."""
    fade = 0.5 ** (calibration.spacing * history.step_seconds / HALF_LIFE_SECONDS)
    known = np.isfinite(errors)
    filled = np.where(known, errors, 0.0)
    totals, masses = np.zeros_like(errors), np.zeros_like(errors)
    total, mass = np.zeros(errors.shape[1:]), np.zeros(errors.shape[1:])
    for place in range(len(errors)):
        total = total * fade + filled[place]
        mass = mass * fade + known[place]
        totals[place], masses[place] = total, mass
    return totals, masses


def _relative(
    totals: FloatArray, masses: FloatArray, calibration: Calibration, size: int
) -> tuple[FloatArray, FloatArray]:
    """Return errors relative to the best member at every origin and at the end (origins + 1, leads, members).

    Only forecasts that had come true by then count. The second array is the mean error at the end.
    """
    origins = np.append(calibration.origins, size)
    error = np.zeros((len(origins), *totals.shape[1:]))
    mass = np.zeros_like(error)
    for place, lead in enumerate(calibration.leads):
        last = np.searchsorted(calibration.origins, origins - lead, side="right") - 1
        told = last >= 0
        error[told, place] = totals[last[told], place]
        mass[told, place] = masses[last[told], place]
    error, mass = _pooled(error), _pooled(mass)
    mean = np.divide(error, mass, out=np.full(error.shape, np.nan), where=mass > 0)
    best = np.min(np.where(np.isnan(mean), np.inf, mean), axis=-1, keepdims=True)
    best = np.where(np.isfinite(best), best, 1.0)
    tiny = 1e-9 * max(1e-300, float(np.nanmax(mean, initial=0.0)))
    relative = np.clip((mean + tiny) / (best + tiny), 1.0, 100.0) if tiny > 0 else mean
    # A member that has not been seen to fail or succeed counts as the best one: it is new, not bad.
    return np.where(np.isnan(mean), 1.0, relative), mean[-1]


def _pooled(sums: FloatArray) -> FloatArray:
    pooled = sums.copy()
    pooled[:, 1:] += sums[:, :-1]
    pooled[:, :-1] += sums[:, 1:]
    return pooled


def _weights(relative: FloatArray, powers: FloatArray) -> FloatArray:
    raw = relative ** -powers[None, :, None]
    raw = np.where(raw < LEAST_SHARE * raw.max(axis=-1, keepdims=True), 0.0, raw)
    weights: FloatArray = raw / raw.sum(axis=-1, keepdims=True)
    return weights

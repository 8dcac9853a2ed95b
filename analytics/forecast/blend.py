"""The blend that ships: a weighted median of members, weighed by how each did lately at that lead; explains itself.

A median rather than a mean, because one member that runs away must not take the forecast with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.calibration import Calibration, across_leads
from analytics.forecast.history import FloatArray, History, IntArray
from analytics.forecast.member import Fitted, Member
from analytics.forecast.weighted_median import weighted_median

#: Weights fall with this power of the relative error, up to and beyond an hour ahead. Chosen on the tuning series.
POWER_NEAR, POWER_FAR = 8.0, 4.0
NEAR_SECONDS = 3_600
#: Age at which an old error counts half.
HALF_LIFE_SECONDS = 21_600.0
#: A member below this share of the best one's weight has no say.
LEAST_SHARE = 0.05
#: A member without a past is worth what the reference is; this share of a full past is mixed in. Chosen on the tuning
#: series, where leaning towards what each member is worth on other series made errors larger.
DRAWN = 0.3
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
        fade = 0.5 ** (calibration.spacing * history.step_seconds / HALF_LIFE_SECONDS)
        sums = _decayed(_errors(paths, calibration, history), fade)
        relative = _relative(*sums, calibration, len(history))
        weights = _weights(relative, powers)
        return FittedBlend(
            names, fitted, calibration.leads, weights[-1], relative[-1], weighted_median(paths, weights[:-1])
        )


@dataclass(frozen=True, slots=True)
class FittedBlend:
    """`weights` and `errors` (over the mean member's) are (leads, members), at the end of the history."""

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


def _decayed(errors: FloatArray, fade: float) -> tuple[FloatArray, FloatArray]:
    """Return exponentially decayed sums, up to each origin, of each member's errors and of the reference's beside them.

    The reference is the mean of all members; it counts only where the member has an error, so a member that is new is
    compared on the same origins.
    """
    known = np.isfinite(errors)
    filled = np.where(known, errors, 0.0)
    reference = filled.sum(axis=-1) / np.maximum(known.sum(axis=-1), 1)
    beside = np.where(known, reference[..., None], 0.0)
    totals, references = np.zeros_like(errors), np.zeros_like(errors)
    total, other = np.zeros(errors.shape[1:]), np.zeros(errors.shape[1:])
    for place in range(len(errors)):
        total = total * fade + filled[place]
        other = other * fade + beside[place]
        totals[place], references[place] = total, other
    return totals, references


def _relative(totals: FloatArray, references: FloatArray, calibration: Calibration, size: int) -> FloatArray:
    """Return errors relative to the reference at every origin and at the end (origins + 1, leads, members).

    Only forecasts that had come true by then count; a member with few of them is drawn towards the reference.
    """
    origins = np.append(calibration.origins, size)
    error, beside = np.zeros((len(origins), *totals.shape[1:])), np.zeros((len(origins), *totals.shape[1:]))
    for place, lead in enumerate(calibration.leads):
        last = np.searchsorted(calibration.origins, origins - lead, side="right") - 1
        told = last >= 0
        error[told, place] = totals[last[told], place]
        beside[told, place] = references[last[told], place]
    error, beside = _pooled(error), _pooled(beside)
    draw = DRAWN * beside.max(axis=-1, keepdims=True)
    tiny = 1e-9 * max(float(beside.max(initial=0.0)), 1e-300)
    relative: FloatArray = (error + draw + tiny) / (beside + draw + tiny)
    return relative


def _pooled(sums: FloatArray) -> FloatArray:
    pooled = sums.copy()
    pooled[:, 1:] += sums[:, :-1]
    pooled[:, :-1] += sums[:, 1:]
    return pooled


def _weights(relative: FloatArray, powers: FloatArray) -> FloatArray:
    """Return weights that sum to 1 over members."""
    better = relative / relative.min(axis=-1, keepdims=True)
    raw = better ** -powers[None, :, None]
    raw = np.where(raw < LEAST_SHARE, 0.0, raw)
    weights: FloatArray = raw / raw.sum(axis=-1, keepdims=True)
    return weights

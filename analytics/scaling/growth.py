"""Learns how a series grows over one lead time: a linear forecast with its own error quantiles; knows only values.

Growth over the lead is regressed on how the level of now stands to the levels of the last 5, 10 and 30 minutes, all
scaled by a power of the level: its square root (as counts scatter) or the level itself (as bursts grow), whichever
gives the cheaper upper quantile on the series' own past. What the regression leaves over gives the quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Memories of the levels in seconds; the first is the level of now.
MEMORIES = (120.0, 300.0, 600.0, 1800.0)
#: Pairs of then and later that a growth model needs; below, a stated growth stands in.
ENOUGH_PAIRS = 30
#: Ridge that keeps a young series from extrapolating (in pairs).
RIDGE = 20.0
#: How the scatter may grow with the level.
POWERS = (0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Growth:
    """Weights of (1, value, levels...) and the quantiles of what they miss; all over level ** power."""

    power: float

    weights: tuple[float, ...]
    q50: float
    q90: float
    q99: float
    q999: float
    ramp: float
    #: Median of the highest value until `stay_seconds`, over the level.
    stay: float
    pairs: int

    def quantiles(self, value: float, levels: tuple[float, ...]) -> tuple[float, float, float, float, float]:
        """Return (q50, q90, q99, q999, stay) of the demand at the lead from the value and levels of now."""
        level = max(levels[0], 1e-9)
        scale = float(level**self.power)
        features = (1.0, (value - level) / scale, *((other - level) / scale for other in levels[1:]))
        middle = level + scale * sum(w * f for w, f in zip(self.weights, features, strict=True))
        spread = (self.q50, self.q90, self.q99, self.q999)
        q50, q90, q99, q999 = (max(0.0, middle + scale * residual) for residual in spread)
        return q50, q90, q99, q999, max(0.0, level + scale * self.stay)


def levels_of(values: Floats, step_seconds: float) -> Floats:
    """Return the running exponential means, shape (steps, memories); a NaN step keeps the mean before."""
    decays = np.array([exp(-step_seconds / memory) for memory in MEMORIES])
    out = np.empty((len(values), len(MEMORIES)))
    total, weight = np.zeros(len(MEMORIES)), np.zeros(len(MEMORIES))
    for place, value in enumerate(values.tolist()):
        total, weight = total * decays, weight * decays
        if value == value:  # NaN is not equal to itself
            total, weight = total + value, weight + 1.0
        with np.errstate(invalid="ignore"):
            out[place] = total / weight
    return out


def learn_growth(
    values: Floats, levels: Floats, step_seconds: float, lead_seconds: float, stay_seconds: float
) -> Growth | None:
    """Fit the growth over the lead on a series and its levels; None where too few pairs are known."""
    lead = max(1, ceil(lead_seconds / step_seconds))
    if len(values) <= lead + ENOUGH_PAIRS:
        return None
    level = levels[:, 0]
    found = [_fit(values, levels, level**power, lead, power) for power in POWERS]
    fitted = [fit for fit in found if fit is not None]
    if not fitted:
        return None
    best = min(fitted, key=lambda fit: fit.loss)
    q50, q90, q99, worst = best.quantiles
    ramp = max(worst, 0.0) / best.typical / lead_seconds
    stay = _highest_ahead(values, level, best.scale, max(1, ceil(stay_seconds / step_seconds)))
    return Growth(best.power, best.weights, q50, q90, q99, worst, ramp, stay, best.pairs)


@dataclass(frozen=True, slots=True)
class _Fit:
    power: float
    weights: tuple[float, ...]
    quantiles: tuple[float, float, float, float]
    #: Mean pinball loss at q99 in requests per second; what the upper quantile costs against what it prevents.
    loss: float
    scale: Floats
    #: Level over scale, to tell a scaled error as a share of the level.
    typical: float
    pairs: int


def _fit(values: Floats, levels: Floats, scale: Floats, lead: int, power: float) -> _Fit | None:
    level = levels[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        longer = [(levels[:, k] - level) / scale for k in range(1, len(MEMORIES))]
        features = np.column_stack([np.ones(len(values)), (values - level) / scale, *longer])[:-lead]
        aim = (values[lead:] - level[:-lead]) / scale[:-lead]
    fine = np.isfinite(aim) & np.isfinite(features).all(axis=1) & (level[:-lead] > 0)
    pairs = int(fine.sum())
    if pairs < ENOUGH_PAIRS:
        return None
    known, wanted, width = features[fine], aim[fine], scale[:-lead][fine]
    gram = known.T @ known + RIDGE * np.diag([0.0, *([1.0] * (known.shape[1] - 1))])
    weights = np.linalg.solve(gram, known.T @ wanted)
    missed = wanted - known @ weights
    order = np.sort(missed)
    q50, q90, q99, worst = (float(order[min(int(q * pairs), pairs - 1)]) for q in (0.5, 0.9, 0.99, 0.999))
    over = (missed - q99) * width
    loss = float(np.maximum(0.99 * over, -0.01 * over).mean())
    typical = float(np.median(level[:-lead][fine] / width))
    return _Fit(power, tuple(weights.tolist()), (q50, q90, q99, worst), loss, scale, max(typical, 1e-9), pairs)


def _highest_ahead(values: Floats, level: Floats, scale: Floats, steps: int) -> float:
    """Return the median of the highest value within `steps` over the level before it, scaled."""
    if len(values) <= steps + 1:
        return 0.0
    filled = np.where(np.isfinite(values), values, -np.inf)
    width = 1
    top = filled
    while width * 2 <= steps:  # running maximum by doubling
        top = np.maximum(top[:-width], top[width:])
        width *= 2
    if width < steps:
        top = np.maximum(top[: len(top) - (steps - width)], top[steps - width :])
    top = top[1:]
    scaled = (top - level[: len(top)]) / scale[: len(top)]
    fine = np.isfinite(scaled)
    return float(np.median(scaled[fine])) if fine.any() else 0.0

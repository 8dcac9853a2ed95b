"""Learns how a series grows over one lead time: a linear forecast with its own error quantiles; knows only values.

Growth over the lead is regressed on how the level of now stands to the levels of shorter and longer memories, all
scaled by a power of a level: its square root (as counts scatter) or the level itself (as bursts grow), taken of now or
of the last two hours (what fell away may return). What the regression leaves over gives the quantiles; where the misses
of the last minutes foretell those of the next, they widen and narrow with them. Of these, the series' own past chooses
the cheapest upper quantile.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, floor, nan

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Memories of the levels in seconds: the newest reading, the level of now, and longer ones.
MEMORIES = (30.0, 120.0, 300.0, 600.0, 1800.0, 7200.0)
NOW, LONG = 1, 5
#: Memories beside the level of now that the regression looks at.
SEEN = (0, 2, 3, 4)
#: Pairs of then and later that a growth model needs; below, a stated growth stands in.
ENOUGH_PAIRS = 30
#: Ridge that keeps a young series from extrapolating (in pairs).
RIDGE = 20.0
#: How the scatter may grow with the level.
POWERS = (0.5, 1.0)
#: Memory of the recent misses, and their share in the spread (the rest is the spread of the whole past).
MISS_MEMORY_SECONDS = 480.0
MISS_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Growth:
    """Weights of (1, levels...) and the quantiles of what they miss; all over the scale."""

    power: float
    #: Whether the scale looks at the last two hours too, and whether the spread follows the recent misses.
    wide: bool
    lively: bool
    weights: tuple[float, ...]
    q50: float
    q90: float
    q99: float
    q999: float
    #: Median of the highest value until `stay_seconds`, over the level.
    stay: float
    pairs: int
    #: Mean square of all misses, and of those of the last minutes when this was learned.
    square: float
    recent: float

    def scale(self, levels: tuple[float, ...]) -> float:
        level = max(levels[NOW], levels[LONG]) if self.wide else levels[NOW]
        return float(max(level, 1e-9) ** self.power)

    def expected(self, levels: tuple[float, ...]) -> float:
        """Return what the regression expects at the lead, before any quantile."""
        scale, level = self.scale(levels), levels[NOW]
        features = (1.0, *((levels[k] - level) / scale for k in SEEN))
        return level + scale * sum(w * f for w, f in zip(self.weights, features, strict=True))

    def missed(self, levels: tuple[float, ...], value: float) -> float:
        """Return by how much a value missed what was expected at `levels`, over the scale."""
        return (value - self.expected(levels)) / self.scale(levels)

    def quantiles(self, levels: tuple[float, ...], recent: float) -> tuple[float, float, float, float, float]:
        """Return (q50, q90, q99, q999, stay) of the demand at the lead from the levels of now.

        `recent` is the mean square of the last minutes' misses.
        """
        scale, middle = self.scale(levels), self.expected(levels)
        spread = scale * float(_liveliness(np.array([recent]), self.square)[0]) if self.lively else scale
        q50, q90, q99, q999 = (max(0.0, middle + spread * q) for q in (self.q50, self.q90, self.q99, self.q999))
        return q50, q90, q99, q999, max(0.0, levels[NOW] + scale * self.stay)


def lead_steps(lead_seconds: float, step_seconds: float) -> int:
    """Return how many steps ahead the step lies in which the lead ends."""
    return max(1, floor(lead_seconds / step_seconds + 1e-9) + 1)


def remembered_miss(recent: float, missed: float, step_seconds: float) -> float:
    """Return the mean square of recent misses after one more; an unknown miss changes nothing."""
    if missed != missed:  # NaN is not equal to itself
        return recent
    keep = exp(-step_seconds / MISS_MEMORY_SECONDS)
    return keep * recent + (1 - keep) * missed * missed


def recent_misses(growth: Growth, values: Floats, levels: Floats, step_seconds: float, lead_seconds: float) -> float:
    """Return the mean square of the newest misses of a growth that was learned before, on a series and its levels."""
    lead = lead_steps(lead_seconds, step_seconds)
    recent = growth.square
    for place in range(max(lead, len(values) - ceil(8 * MISS_MEMORY_SECONDS / step_seconds)), len(values)):
        then = tuple(levels[place - lead].tolist())
        recent = remembered_miss(recent, growth.missed(then, float(values[place])), step_seconds)
    return recent


def levels_of(values: Floats, step_seconds: float) -> Floats:
    """Return the running exponential means, shape (steps, memories); a NaN step keeps the mean before."""
    read = values.tolist()
    out = np.empty((len(values), len(MEMORIES)))
    for column, memory in enumerate(MEMORIES):
        keep, total, weight, means = exp(-step_seconds / memory), 0.0, 0.0, []
        for value in read:
            total, weight = total * keep, weight * keep
            if value == value:
                total, weight = total + value, weight + 1.0
            means.append(total / weight if weight else nan)
        out[:, column] = means
    return out


def learn_growth(
    values: Floats, levels: Floats, step_seconds: float, lead_seconds: float, stay_seconds: float
) -> Growth | None:
    """Fit the growth over the lead on a series and its levels; None where too few pairs are known."""
    lead = lead_steps(lead_seconds, step_seconds)
    if len(values) <= lead + ENOUGH_PAIRS:
        return None
    now = np.maximum(levels[:, NOW], 1e-9)
    bases = {False: now, True: np.maximum(now, levels[:, LONG])}
    fits = [
        fit
        for wide, base in bases.items()
        for power in POWERS
        for fit in _fits(values, levels, base**power, lead, step_seconds, (power, wide))
    ]
    if not fits:
        return None
    best = min(fits, key=lambda fit: fit.loss)
    q50, q90, q99, worst = best.quantiles
    scale = bases[best.wide] ** best.power
    stay = _highest_ahead(values, levels[:, NOW], scale, max(1, ceil(stay_seconds / step_seconds)))
    return Growth(
        best.power, best.wide, best.lively, best.weights, q50, q90, q99, worst, stay, best.pairs,
        best.square, best.recent,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Fit:
    power: float
    wide: bool
    lively: bool
    weights: tuple[float, ...]
    quantiles: tuple[float, float, float, float]
    #: Mean pinball loss at q99 in requests per second; what the upper quantile costs against what it prevents.
    loss: float
    pairs: int
    square: float
    recent: float


def _fits(
    values: Floats, levels: Floats, scale: Floats, lead: int, step_seconds: float, kind: tuple[float, bool]
) -> list[_Fit]:
    """Return the fit with a steady spread and the one whose spread follows the recent misses."""
    level = levels[:, NOW]
    with np.errstate(invalid="ignore", divide="ignore"):
        features = np.column_stack([np.ones(len(values)), *((levels[:, k] - level) / scale for k in SEEN)])[:-lead]
        aim = (values[lead:] - level[:-lead]) / scale[:-lead]
    fine = np.isfinite(aim) & np.isfinite(features).all(axis=1) & (level[:-lead] > 0)
    pairs = int(fine.sum())
    if pairs < ENOUGH_PAIRS:
        return []
    known, wanted, width = features[fine], aim[fine], scale[:-lead][fine]
    gram = known.T @ known + RIDGE * np.diag([0.0, *([1.0] * (known.shape[1] - 1))])
    weights = np.linalg.solve(gram, known.T @ wanted)
    missed = wanted - known @ weights
    square = float(np.mean(missed**2))
    before, recent = _recent(np.where(fine, aim - features @ weights, np.nan), square, lead, step_seconds)
    found = []
    for lively in (False, True):
        spread = _liveliness(before[fine], square) if lively else np.ones(pairs)
        order = np.sort(missed / spread)
        q50, q90, q99, worst = (float(order[min(int(q * pairs), pairs - 1)]) for q in (0.5, 0.9, 0.99, 0.999))
        over = (missed - q99 * spread) * width
        loss = float(np.maximum(0.99 * over, -0.01 * over).mean())
        found.append(_Fit(*kind, lively, tuple(weights.tolist()), (q50, q90, q99, worst), loss, pairs, square, recent))
    return found


def _recent(missed: Floats, square: float, lead: int, step_seconds: float) -> tuple[Floats, float]:
    """Return the mean square of recent misses as known at each step (each one lead later), and at the end."""
    out = np.empty(len(missed))
    recent = square
    queue = [nan] * min(lead, len(missed)) + missed.tolist()
    for place in range(len(missed)):
        recent = remembered_miss(recent, queue[place], step_seconds)
        out[place] = recent
    for miss in queue[len(missed) :]:
        recent = remembered_miss(recent, miss, step_seconds)
    return out, recent


def _liveliness(recent: Floats, square: float) -> Floats:
    """Return the factors on the spread that the recent misses ask for."""
    share = recent / square if square > 0 else np.ones(len(recent))
    return np.sqrt(1 - MISS_SHARE + MISS_SHARE * share)


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

"""Judges whether B is worse than A, with an interval: pass, fail or inconclusive; chooses no traffic and no margin.

Requests of one minute are not independent, so whole blocks of time are resampled (a Poisson bootstrap). Both sides are
weighed to the same mix of strata (length buckets), so that a canary with longer prompts is not blamed for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analytics.slo.burn import wilson_interval

Floats = npt.NDArray[np.float64]

#: Requests that the smaller side needs before a quantile of the tail says anything (ten of them in the tail).
QUANTILE_BY_COUNT: tuple[tuple[int, float], ...] = ((1_000, 0.99), (200, 0.95), (100, 0.9), (30, 0.5))
#: Fewer requests than this on a side, and nothing is concluded.
LEAST = 30
DRAWS = 500
#: More values than this are thinned: the interval is then wider than it could be, never narrower.
MOST = 50_000
PASS, FAIL, INCONCLUSIVE = "pass", "fail", "inconclusive"


@dataclass(frozen=True, slots=True)
class Side:
    """One side: a value per request (seconds, or 1 for bad and 0 for good), when it ended (seconds), its stratum."""

    values: Floats
    at_seconds: Floats
    strata: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What B is relative to A. `effect` is a relative change of a quantile, or a difference of shares."""

    verdict: str
    effect: float | None
    low: float | None
    high: float | None
    counts: tuple[int, int]
    quantile: float | None
    a_value: float | None
    b_value: float | None
    because: str
    caveats: tuple[str, ...] = ()


def compare_latencies(a: Side, b: Side, *, margin: float, seed: int = 0) -> Comparison:
    """Compare the highest quantile that both sides can support; `margin` 0.1 tolerates B being 10 % slower."""
    smaller = min(len(a.values), len(b.values))
    q = next((quantile for count, quantile in QUANTILE_BY_COUNT if smaller >= count), None)
    if q is None:
        return _too_few(a, b)
    return _compare(a, b, margin, seed, q)


def compare_shares(a: Side, b: Side, *, margin: float, seed: int = 0) -> Comparison:
    """Compare shares of bad requests; `margin` 0.01 tolerates one more bad request in a hundred."""
    if min(len(a.values), len(b.values)) < LEAST:
        return _too_few(a, b)
    return _compare(a, b, margin, seed, None)


def verdict_of(low: float, high: float, margin: float) -> str:
    """Return pass where B is surely within the margin, fail where it is surely worse and may be beyond it.

    >>> verdict_of(-0.1, 0.05, 0.1), verdict_of(0.02, 0.3, 0.1), verdict_of(-0.1, 0.3, 0.1)
    ('pass', 'fail', 'inconclusive')
    """
    if high <= margin:
        return PASS
    return FAIL if low > 0 else INCONCLUSIVE


def _compare(a: Side, b: Side, margin: float, seed: int, q: float | None) -> Comparison:
    rng = np.random.default_rng(seed)
    counts = (len(a.values), len(b.values))
    a, b, caveats = _common_strata(a, b)
    if min(len(a.values), len(b.values)) < LEAST:
        return _too_few(a, b, (*caveats, "too few requests of the lengths that both sides have"))
    a, b = _thinned(a, rng), _thinned(b, rng)
    mix = _mix(a.strata, b.strata)
    a_value, b_value = (_statistic(side, np.ones(len(side.values)), mix, q) for side in (a, b))
    drawn = np.array([_draws(side, mix, q, rng) for side in (a, b)])
    effect = _effect(a_value, b_value, q)
    effects = _effects(drawn[0], drawn[1], q)
    effects = effects[np.isfinite(effects)]
    if not np.isfinite(effect) or len(effects) < DRAWS // 2:
        return Comparison(
            INCONCLUSIVE, None, None, None, counts, q, a_value, b_value, "the base is zero: no ratio", caveats
        )
    low, high = (float(edge) for edge in np.quantile(effects, (0.025, 0.975)))
    if q is None:
        low, high = _at_least_newcombe(a.values, b.values, low, high)
    verdict = verdict_of(low, high, margin)
    return Comparison(
        verdict, effect, low, high, counts, q, a_value, b_value, _because(verdict, low, high, margin, q), caveats
    )


def _statistic(side: Side, weights: Floats, mix: Floats, q: float | None) -> float:
    """Return the weighted quantile (inverted CDF), or mean, of a side whose strata weigh as in `mix`."""
    own = np.bincount(side.strata, weights, len(mix))
    scale = np.divide(mix, own, out=np.zeros_like(mix), where=own > 0)
    balanced = weights * scale[side.strata]
    if q is None:
        return float((side.values * balanced).sum() / balanced.sum())
    order = np.argsort(side.values, kind="stable")
    cumulative = np.cumsum(balanced[order])
    place = np.searchsorted(cumulative, q * cumulative[-1] * (1 - 1e-12))
    return float(side.values[order][min(int(place), len(order) - 1)])


def _draws(side: Side, mix: Floats, q: float | None, rng: np.random.Generator) -> Floats:
    order = np.argsort(side.values, kind="stable")
    values, strata = side.values[order], side.strata[order]
    blocks = _blocks(side.at_seconds)[order]
    found = np.full(DRAWS, np.nan)
    for draw in range(DRAWS):
        weights = rng.poisson(1.0, int(blocks.max()) + 1)[blocks].astype(np.float64)
        own = np.bincount(strata, weights, len(mix))
        balanced = weights * np.divide(mix, own, out=np.zeros_like(mix), where=own > 0)[strata]
        cumulative = np.cumsum(balanced)
        if cumulative[-1] <= 0:
            continue
        if q is None:
            found[draw] = float((values * balanced).sum() / cumulative[-1])
        else:
            place = int(np.searchsorted(cumulative, q * cumulative[-1] * (1 - 1e-12)))
            found[draw] = values[min(place, len(values) - 1)]
    return found


def _blocks(at_seconds: Floats) -> npt.NDArray[np.int64]:
    """Return a block number per request: minutes, or a thirtieth of a short run."""
    start = at_seconds.min()
    length = min(60.0, max(1e-6, (at_seconds.max() - start) / 30))
    return np.asarray((at_seconds - start) // length, dtype=np.int64)


def _mix(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> Floats:
    """Return the share of each stratum over both sides, each side counting equally."""
    size = int(max(a.max(), b.max())) + 1
    found: Floats = (np.bincount(a, minlength=size) / len(a) + np.bincount(b, minlength=size) / len(b)) / 2
    return found


def _common_strata(a: Side, b: Side) -> tuple[Side, Side, tuple[str, ...]]:
    common = np.intersect1d(a.strata, b.strata)
    kept = [np.isin(side.strata, common) for side in (a, b)]
    lost = sum(int((~one).sum()) for one in kept)
    sides = [
        Side(side.values[one], side.at_seconds[one], side.strata[one]) for side, one in zip((a, b), kept, strict=True)
    ]
    caveats = (f"{lost} requests have a length that only one side served; they are left out",) if lost else ()
    return sides[0], sides[1], caveats


def _thinned(side: Side, rng: np.random.Generator) -> Side:
    if len(side.values) <= MOST:
        return side
    kept = np.sort(rng.choice(len(side.values), MOST, replace=False))
    return Side(side.values[kept], side.at_seconds[kept], side.strata[kept])


def _at_least_newcombe(a: Floats, b: Floats, low: float, high: float) -> tuple[float, float]:
    """Widen a resampled interval of b - a to Newcombe's: no bad request among few does not prove that none will come.

    Newcombe, "Interval estimation for the difference between independent proportions", Statist. Med. 17 (1998), 10.
    """
    (a_low, a_high), (b_low, b_high) = (wilson_interval(float(side.sum()), len(side)) for side in (a, b))
    share_a, share_b = float(a.mean()), float(b.mean())
    difference = share_b - share_a
    down = float(np.hypot(share_b - b_low, a_high - share_a))
    up = float(np.hypot(b_high - share_b, share_a - a_low))
    return min(low, difference - down), max(high, difference + up)


def _effect(a: float, b: float, q: float | None) -> float:
    if q is None:
        return b - a
    return b / a - 1 if a > 0 else float("nan")


def _effects(a: Floats, b: Floats, q: float | None) -> Floats:
    if q is None:
        return b - a
    return np.divide(b, a, out=np.full_like(b, np.nan), where=a > 0) - 1


def _because(verdict: str, low: float, high: float, margin: float, q: float | None) -> str:
    what = "the share of bad requests" if q is None else f"P{q * 100:g}"
    interval = f"{low * 100:+.1f} % to {high * 100:+.1f} %"
    if verdict == PASS:
        return f"{what} changed by {interval}, within the margin of {margin * 100:g} %"
    if verdict == FAIL:
        return f"{what} rose by {interval}, beyond the margin of {margin * 100:g} %"
    return f"{what} changed by {interval}: neither within the margin of {margin * 100:g} % nor surely worse"


def _too_few(a: Side, b: Side, caveats: tuple[str, ...] = ()) -> Comparison:
    counts = (len(a.values), len(b.values))
    return Comparison(
        INCONCLUSIVE,
        None,
        None,
        None,
        counts,
        None,
        None,
        None,
        f"at least {LEAST} requests a side are needed",
        caveats,
    )

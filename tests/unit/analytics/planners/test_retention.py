"""The hit ratio from reuse intervals agrees with a cache that is run access by access."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

from analytics.planners.distribution import Distribution
from analytics.planners.retention import ReuseClass, by_value, least_recently_used, reuse_curves

RATE = 5.0


def _classes() -> tuple[ReuseClass, ReuseClass]:
    quick = Distribution((0.0, 0.5, 1.0), (1.0, 20.0, 60.0))
    slow = Distribution((0.0, 0.5, 1.0), (60.0, 600.0, 1800.0))
    return ReuseClass("quick", 0.5, 0.9, quick), ReuseClass("slow", 0.5, 0.4, slow)


def _accesses(rng: np.random.Generator, sessions: int) -> list[tuple[float, int]]:
    """Each access belongs to a class and returns, as an access of the same class, with the class's chance."""
    found = []
    classes = _classes()
    starts = np.sort(rng.uniform(0, 20_000, sessions))
    for session, start in enumerate(starts):
        kind = classes[session % 2]
        now = float(start)
        while True:
            found.append((now, session))
            if rng.random() >= kind.return_ratio:
                break
            now += float(kind.return_seconds.quantile(rng.random()))
    return sorted(found)


def _run_lru(accesses: list[tuple[float, int]], capacity: int, since: float, until: float) -> float:
    cache: OrderedDict[int, None] = OrderedDict()
    hits = seen = 0
    for now, session in accesses:
        hit = session in cache
        if since <= now <= until:
            seen += 1
            hits += hit
        cache[session] = None
        cache.move_to_end(session)
        if len(cache) > capacity:
            cache.popitem(last=False)
    return hits / seen


def test_lru_from_intervals_agrees_with_lru_run() -> None:
    accesses = _accesses(np.random.default_rng(3), 8_000)
    inside = [each for each in accesses if 4_000 <= each[0] <= 18_000]
    rate = len(inside) / 14_000
    quick = sum(1 for _, session in inside if session % 2 == 0) / len(inside)
    classes = _classes()
    shares = (quick, 1 - quick)
    weighted = tuple(
        ReuseClass(each.name, share, each.return_ratio, each.return_seconds)
        for each, share in zip(classes, shares, strict=True)
    )
    curves = reuse_curves(weighted, rate)
    for capacity in (50, 200, 800):
        run = _run_lru(accesses, capacity, 4_000, 18_000)
        assert least_recently_used(curves, capacity).hit_ratio == pytest.approx(run, abs=0.03)


def test_eviction_by_value_is_never_worse_than_lru() -> None:
    curves = reuse_curves(_classes(), RATE)
    for capacity in np.geomspace(1, 1e6, 30):
        lru, value = least_recently_used(curves, float(capacity)), by_value(curves, float(capacity))
        assert value.saved_seconds_per_access >= lru.saved_seconds_per_access - 2e-3


def test_eviction_by_value_keeps_what_comes_back_sooner() -> None:
    kept = by_value(reuse_curves(_classes(), RATE), 100).age_seconds
    assert kept["quick"] > kept["slow"]


def test_a_cache_without_room_hits_nothing_and_a_huge_one_all_that_returns() -> None:
    curves = reuse_curves(_classes(), RATE)
    assert least_recently_used(curves, 0).hit_ratio == pytest.approx(0, abs=1e-9)
    assert least_recently_used(curves, 1e12).hit_ratio == pytest.approx(0.5 * 0.9 + 0.5 * 0.4)

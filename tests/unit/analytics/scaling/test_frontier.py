"""What one instance serves within the objective, learned from windows of what was served."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.scaling import Windows, capacity
from analytics.scaling.frontier import KNEE_RATIO


def windows(
    rate: np.ndarray,
    good: np.ndarray | None = None,
    queue: np.ndarray | None = None,
    occupancy: np.ndarray | None = None,
    age: np.ndarray | None = None,
    weight: np.ndarray | None = None,
    regime: list[str] | None = None,
) -> Windows:
    count = len(rate)
    unknown = np.full(count, np.nan)
    return Windows(
        rate=rate,
        good_ratio=unknown if good is None else good,
        queue_min=np.zeros(count) if queue is None else queue,
        running=np.full(count, 10.0),
        occupancy=unknown if occupancy is None else occupancy,
        age_seconds=unknown if age is None else age,
        hangover=np.zeros(count, dtype=bool),
        weight=np.ones(count) if weight is None else weight,
        regime=None if regime is None else np.array(regime, dtype=object),
    )


def test_the_frontier_lies_where_windows_stop_meeting_the_objective() -> None:
    generator = np.random.default_rng(1)
    rate = generator.uniform(1, 20, 400)
    good = np.where(rate < 12.0, 1.0, 0.8)
    found = capacity(windows(rate, good), 0.99, prior=5.0)
    assert found.origin == "frontier"
    assert found.value == pytest.approx(12.0, abs=0.3)
    assert found.low <= found.value <= found.high


def test_a_tail_that_is_missed_now_and_then_lowers_the_frontier() -> None:
    """Means hide it: between 8 and 12 every fifth window misses, which a 99 % objective does not forgive."""
    generator = np.random.default_rng(2)
    rate = generator.uniform(1, 20, 800)
    missed = (rate > 12) | ((rate > 8) & (generator.random(800) < 0.2))
    found = capacity(windows(rate, np.where(missed, 0.8, 1.0)), 0.99, prior=5.0)
    assert found.value < 9.0


def test_without_missed_windows_a_queue_that_never_empties_shows_the_ceiling() -> None:
    rate = np.full(20, 10.0)
    found = capacity(windows(rate, queue=np.full(20, 5.0)), 0.99, prior=99.0)
    assert found.origin == "saturation"
    assert found.value == pytest.approx(KNEE_RATIO * 10.0)


def test_without_a_queue_capacity_is_extrapolated_from_how_full_it_was() -> None:
    found = capacity(windows(np.full(20, 2.0), occupancy=np.full(20, 0.2)), 0.99, prior=99.0)
    assert found.origin == "extrapolated"
    assert found.value == pytest.approx(KNEE_RATIO * 10.0)
    assert found.high / found.low >= 2.0


def test_with_nothing_served_the_prior_stands_and_says_so() -> None:
    found = capacity(windows(np.zeros(5)), 0.99, prior=16.8, prior_origin="roofline")
    assert (found.value, found.origin) == (16.8, "prior: roofline")


def test_a_prior_below_what_was_served_is_not_believed() -> None:
    assert capacity(windows(np.array([20.0, 21.0])), 0.99, prior=16.8).value == 21.0


def test_cold_windows_do_not_poison_the_capacity() -> None:
    """ai-dynamo/dynamo 12430: first passes of new workers collapsed the learned rate."""
    rate = np.concatenate([np.full(20, 1.0), np.full(20, 10.0)])
    age = np.concatenate([np.full(20, 30.0), np.full(20, 900.0)])
    found = capacity(windows(rate, queue=np.full(40, 3.0), age=age), 0.99, prior=5.0)
    assert found.value == pytest.approx(KNEE_RATIO * 10.0)


def test_longer_requests_count_for_more() -> None:
    found = capacity(windows(np.full(20, 5.0), queue=np.full(20, 3.0), weight=np.full(20, 2.0)), 0.99, prior=1.0)
    assert found.value == pytest.approx(KNEE_RATIO * 10.0)


def test_a_new_version_starts_a_regime_and_its_drift_is_told() -> None:
    rate = np.concatenate([np.full(30, 10.0), np.full(30, 8.2)])
    regime = ["v1"] * 30 + ["v2"] * 30
    found = capacity(windows(rate, queue=np.full(60, 3.0), regime=regime), 0.99, prior=1.0)
    assert found.value == pytest.approx(KNEE_RATIO * 8.2)
    assert found.drift == pytest.approx(-0.18)
    assert found.drift_since == "v2"


def test_the_same_windows_give_the_same_interval() -> None:
    rate = np.random.default_rng(3).uniform(5, 15, 50)
    first, second = (capacity(windows(rate, queue=np.full(50, 3.0)), 0.99, 1.0) for _ in range(2))
    assert first == second

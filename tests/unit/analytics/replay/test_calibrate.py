"""A fit recovers the costs that made the samples, and refuses what it cannot know."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.replay import calibrate
from signals.errors import NotEnoughDataError


def samples(count: int = 200, slow: float = 1.0) -> dict[str, np.ndarray]:
    """Return samples with 10 ms a step, 0.2 ms a prompt token, 1 ms a sequence; slower in the second half."""
    generator = np.random.default_rng(1)
    steps = generator.integers(20, 100, count).astype(float)
    running = generator.integers(1, 16, count).astype(float)
    prompt = generator.integers(0, 4000, count).astype(float)
    generated = steps * running
    pace = np.where(np.arange(count) < count // 2, 1.0, slow)
    seconds = pace * (steps * 0.010 + prompt * 0.0002 + generated * 0.001)
    return {
        "interval_seconds": seconds,
        "steps": steps,
        "prompt_tokens": prompt + 50,
        "prefix_hit_tokens": np.full(count, 50.0),
        "generation_tokens": generated,
        "running": running,
        "kv_usage_ratio": np.full(count, 0.3),
    }


def test_the_costs_are_recovered() -> None:
    found = calibrate(samples(), seats=16, kv_tokens=10_000)
    assert found.engine.base_seconds + found.engine.per_kv_token_seconds * 3000 == pytest.approx(0.010, rel=0.02)
    assert found.engine.per_prefill_token_seconds == pytest.approx(0.0002, rel=0.02)
    assert found.engine.per_sequence_seconds == pytest.approx(0.001, rel=0.02)
    assert found.median_error < 0.01


def test_a_host_that_slows_down_shows_in_the_pace() -> None:
    found = calibrate(samples(slow=4.0), seats=16, kv_tokens=10_000)
    early, late = np.median(found.pace[:90]), np.median(found.pace[-90:])
    assert late / early == pytest.approx(4.0, rel=0.15)
    track = found.pace_track(0.0, 400.0, 2.0)
    assert track[-1] / track[0] == pytest.approx(4.0, rel=0.4)


def test_left_out_samples_are_not_used() -> None:
    spoiled = samples()
    spoiled["interval_seconds"][100:] *= 50
    chosen = np.arange(200) < 100
    found = calibrate(spoiled, seats=16, kv_tokens=10_000, chosen=chosen)
    assert found.samples <= 100
    assert found.engine.per_sequence_seconds == pytest.approx(0.001, rel=0.03)


def test_a_missing_column_is_named() -> None:
    broken = samples()
    broken["steps"] = np.full(200, np.nan)
    with pytest.raises(NotEnoughDataError, match="steps"):
        calibrate(broken, seats=16, kv_tokens=10_000)


def test_an_idle_engine_cannot_be_fitted() -> None:
    idle = samples()
    idle["running"] = np.zeros(200)
    with pytest.raises(NotEnoughDataError, match="never idled"):
        calibrate(idle, seats=16, kv_tokens=10_000)

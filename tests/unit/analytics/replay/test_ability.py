"""What one instance can do is found by replaying the mix: a heavy tail costs rate; some requests are never in time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analytics.replay.ability import ability_of
from analytics.replay.arrivals import Arrivals, arrivals
from analytics.replay.engine import Engine
from signals.errors import InputError

ENGINE = Engine()
COUNT = 600


def mix(prompts: object, outputs: int = 100) -> Arrivals:
    prompt = np.broadcast_to(np.asarray(prompts, dtype=np.float64), COUNT)
    return arrivals(np.arange(COUNT, dtype=np.float64), prompt, np.full(COUNT, outputs))


def test_one_length_is_served_about_as_fast_as_the_step_model_says() -> None:
    found = ability_of(mix(1_000), ENGINE, 2.0, 0.1)
    assert found.attainable == 1.0
    assert found.rate == pytest.approx(ENGINE.requests_per_second(1_000, 100, 2.0, 0.1), rel=0.35)
    assert 1.0 <= found.in_flight <= ENGINE.seats


def test_the_same_mean_with_a_heavy_tail_is_served_slower() -> None:
    even = mix(2_000)
    tailed = mix(np.where(np.arange(COUNT) % 20 == 0, 30_000, 526))
    assert tailed.input_tokens.mean() == pytest.approx(even.input_tokens.mean(), rel=0.01)
    assert ability_of(tailed, ENGINE, 6.0, 0.1).rate < 0.9 * ability_of(even, ENGINE, 6.0, 0.1).rate


def test_prompts_that_are_too_long_even_alone_are_told_and_do_not_ask_for_more_instances() -> None:
    hopeless = np.arange(COUNT) % 4 == 0
    found = ability_of(mix(np.where(hopeless, 100_000, 500)), ENGINE, 1.0)
    assert found.attainable == pytest.approx(0.75)
    assert 0.3 < found.reachable < 0.75
    assert found.rate > 0.05, "long prompts hold up short ones: that is no reason to plan idle instances"


def test_an_engine_twice_as_fast_serves_about_twice_the_rate() -> None:
    fast = replace(
        ENGINE,
        base_seconds=ENGINE.base_seconds / 2,
        per_prefill_token_seconds=ENGINE.per_prefill_token_seconds / 2,
        per_sequence_seconds=ENGINE.per_sequence_seconds / 2,
        per_kv_token_seconds=ENGINE.per_kv_token_seconds / 2,
        per_attention_seconds=ENGINE.per_attention_seconds / 2,
    )
    slow, quick = (ability_of(mix(3_000), engine, 2.0).rate for engine in (ENGINE, fast))
    assert 1.6 < quick / slow < 2.8


def test_where_no_request_can_be_good_the_engine_is_planned_with_what_it_serves_at_all() -> None:
    found = ability_of(mix(50_000), ENGINE, 0.01)
    assert found.attainable == 0.0
    assert found.rate > 0.01


def test_requests_that_the_engine_cannot_hold_are_an_error() -> None:
    with pytest.raises(InputError, match="KV cache"):
        ability_of(mix(2 * ENGINE.kv_tokens), ENGINE, 2.0)

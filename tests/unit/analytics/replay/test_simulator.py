"""The compiled replay does what engines do, and what a plain step-by-step engine computes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analytics.replay import Arrivals, Engine, Simulator, arrivals
from tests.unit.analytics.replay.stepwise import stepwise

ENGINE = Engine(token_budget=256, seats=8, kv_tokens=20_000)


def burst(count: int, seed: int, span: float = 10.0) -> Arrivals:
    generator = np.random.default_rng(seed)
    prompt = generator.integers(5, 700, count)
    return arrivals(
        np.sort(generator.random(count) * span),
        prompt,
        generator.integers(1, 60, count),
        generator.integers(0, 5, count),
    )


def finish(simulator: Simulator, until: float = 0.0) -> Simulator:
    simulator.advance(until)
    simulator.finish(1e6)
    return simulator


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("span", [1.0, 20.0])
def test_the_compiled_replay_equals_the_step_by_step_engine(seed: int, span: float) -> None:
    load = burst(120, seed, span)
    first, finished = stepwise(load, ENGINE)
    done = finish(Simulator(load, ENGINE, 1, 1))
    np.testing.assert_allclose(done.ttft_seconds(), first - load.seconds, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(done.e2e_seconds(), finished - load.seconds, rtol=1e-6, atol=1e-6)


def test_one_request_takes_its_prefill_and_its_steps() -> None:
    load = arrivals(np.zeros(1), np.array([100]), np.array([11]))
    engine = Engine(base_seconds=0.01, per_prefill_token_seconds=1e-4, per_sequence_seconds=0.0,
                    per_kv_token_seconds=0.0, per_attention_seconds=0.0, overhead_seconds=0.0)  # fmt: skip
    done = finish(Simulator(load, engine, 1, 1))
    assert done.ttft_seconds()[0] == pytest.approx(0.02)
    assert done.e2e_seconds()[0] == pytest.approx(0.12)


def test_everything_that_arrives_is_served() -> None:
    load = burst(400, 3, 5.0)
    done = finish(Simulator(load, replace(ENGINE, kv_tokens=1500), 2, 2))
    assert np.isfinite(done.e2e_seconds()).all()
    assert done.preemptions > 0


def test_a_prompt_larger_than_the_cache_is_refused_and_holds_nobody_up() -> None:
    load = arrivals(np.array([0.0, 0.1]), np.array([30_000, 10]), np.array([5, 5]))
    done = finish(Simulator(load, ENGINE, 1, 1))
    assert np.isinf(done.e2e_seconds()[0])
    assert np.isfinite(done.e2e_seconds()[1])


def test_prefix_hits_shorten_the_first_token() -> None:
    prompt, output = np.full(50, 600), np.full(50, 20)
    seconds = np.arange(50) * 0.5
    cold = finish(Simulator(arrivals(seconds, prompt, output), ENGINE, 1, 1)).ttft_seconds()
    warm = finish(Simulator(arrivals(seconds, prompt, output, np.full(50, 500)), ENGINE, 1, 1)).ttft_seconds()
    assert np.median(warm) < 0.6 * np.median(cold)


def test_a_cache_of_its_own_serves_returning_sessions_at_home() -> None:
    generator = np.random.default_rng(4)
    key = generator.integers(0, 40, 600)
    load = arrivals(np.arange(600) * 0.05, np.full(600, 500), np.full(600, 10), None, key, np.full(600, 450))
    engine = replace(ENGINE, cache_tokens=200_000)
    home, anywhere = (
        finish(Simulator(load, engine, 4, 4, routing=r)).ttft_seconds() for r in ("affinity", "two_choices")
    )
    none = finish(Simulator(load, ENGINE, 4, 4)).ttft_seconds()
    assert home.mean() < anywhere.mean() < none.mean()


def test_speculation_shortens_decoding() -> None:
    load = burst(50, 1, 30.0)
    plain, fast = (finish(Simulator(load, replace(ENGINE, tokens_per_step=g), 1, 1)) for g in (1.0, 2.5))
    assert np.nanmean(fast.e2e_seconds()) < np.nanmean(plain.e2e_seconds())


def test_split_roles_hand_over_and_finish_everything() -> None:
    load = burst(200, 2, 10.0)
    split = finish(Simulator(load, ENGINE, 4, 4, prefill_instances=2))
    assert np.isfinite(split.e2e_seconds()).all()
    assert set(split.instances_of().tolist()) <= {2, 3}


def test_an_instance_serves_only_after_its_cold_start() -> None:
    load = arrivals(np.arange(0, 100.0, 0.1), np.full(1000, 200), np.full(1000, 30))
    slow = Engine(base_seconds=0.05, seats=4)
    simulator = Simulator(load, slow, 1, 3)
    simulator.advance(10.0)
    assert simulator.resize(3, 10.0, 30.0) == 3
    reading = simulator.reading()
    assert (reading.ready, reading.starting) == (1, 2)
    simulator.advance(39.9)
    assert simulator.reading().ready == 1
    simulator.advance(40.1)
    assert simulator.reading().ready == 3


def test_draining_loses_no_request_and_is_billed_until_empty() -> None:
    load = burst(300, 5, 20.0)
    simulator = Simulator(load, ENGINE, 3, 3)
    simulator.advance(5.0)
    assert simulator.resize(1, 5.0, 30.0) == 1
    assert simulator.reading().draining + simulator.reading().ready >= 1
    simulator.advance(20.0)
    assert 20.0 + 2 * 5.0 <= simulator.instance_seconds < 60.0
    simulator.finish(1e6)
    assert np.isfinite(simulator.e2e_seconds()).all()


def test_without_a_ready_instance_requests_wait_for_the_first_one() -> None:
    load = arrivals(np.arange(5.0), np.full(5, 100), np.full(5, 10))
    simulator = Simulator(load, ENGINE, 0, 2)
    simulator.advance(6.0)
    assert simulator.reading().queue == 5
    simulator.resize(1, 6.0, 10.0)
    finish(simulator, 30.0)
    assert np.isfinite(simulator.ttft_seconds()).all()
    assert simulator.ttft_seconds()[0] > 15.9


def test_a_slow_host_stretches_every_step() -> None:
    load = arrivals(np.array([0.0]), np.array([100]), np.array([100]))
    plain = finish(Simulator(load, ENGINE, 1, 1)).e2e_seconds()[0]
    pace = np.full(1000, 3.0)
    slow = finish(Simulator(load, ENGINE, 1, 1, pace=pace, pace_step_seconds=0.5)).e2e_seconds()[0]
    assert slow - 0.005 == pytest.approx(3 * (plain - 0.005), rel=1e-6)


def test_the_closed_form_of_a_decode_run_pauses_anywhere() -> None:
    load = burst(100, 7, 10.0)
    whole = finish(Simulator(load, ENGINE, 1, 1))
    stopped = Simulator(load, ENGINE, 1, 1)
    for k in range(200):
        stopped.advance(k * 0.11)
        stopped.reading()
    finish(stopped, 25.0)
    np.testing.assert_allclose(whole.e2e_seconds(), stopped.e2e_seconds())


def test_readings_count_what_happened_since_the_last() -> None:
    load = burst(100, 8, 10.0)
    simulator = Simulator(load, ENGINE, 2, 2)
    arrived = first = 0
    for k in range(1, 80):
        simulator.advance(k * 1.0)
        reading = simulator.reading()
        arrived, first = arrived + reading.arrived, first + reading.first_tokens
    assert (arrived, first) == (100, 100)

"""Mixes of lengths: what longer requests at the horizon do to capacity, and when nothing is said."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import numpy as np
import pytest

from analytics.replay.engine import Engine
from analytics.scaling import Capacity
from analytics.scaling.mix import Bucket, mix_of, trend, worth

LENGTHS = {"0-1k": (500.0, 250.0), "1k-4k": (2000.0, 250.0), "4k-16k": (8000.0, 300.0)}
LEARNED = {"0-1k": 0.8, "1k-4k": 0.15, "4k-16k": 0.05}


def buckets(later: dict[str, float], requests: int = 1000) -> list[Bucket]:
    return [Bucket(name, requests, *LENGTHS[name], LEARNED[name], later[name]) for name in LENGTHS]


def test_the_same_mix_changes_nothing() -> None:
    found = mix_of(buckets(LEARNED))
    assert (found.applied, found.factor) == (False, 1.0)
    assert sum(share * work for share, work in zip(LEARNED.values(), found.work, strict=True)) == pytest.approx(1.0)
    capacity = Capacity(10.0, 8.0, 12.0, "frontier")
    assert capacity.at(found) == replace(capacity, mix=found)


def test_longer_requests_at_the_horizon_lower_capacity_and_its_interval() -> None:
    found = mix_of(buckets({"0-1k": 0.5, "1k-4k": 0.3, "4k-16k": 0.2}))
    assert found.applied and found.low < found.factor < found.high < 1
    moved = Capacity(10.0, 8.0, 12.0, "frontier").at(found)
    assert moved.value == pytest.approx(10 * found.factor)
    assert [moved.low, moved.high] == pytest.approx([8 * found.low, 12 * found.high])


@pytest.mark.parametrize(
    "later",
    [
        {"0-1k": 0.5, "1k-4k": 0.3, "4k-16k": 0.2},
        {"0-1k": 0.2, "1k-4k": 0.3, "4k-16k": 0.5},
        {"0-1k": 0.95, "1k-4k": 0.05, "4k-16k": 0.0},
    ],
)
@pytest.mark.parametrize("engine", [Engine(), Engine(seats=64), Engine(per_prefill_token_seconds=1e-4)])
def test_it_comes_closer_to_what_the_engine_serves_than_no_correction(later: dict[str, float], engine: Engine) -> None:
    def served(mix: dict[str, float]) -> float:
        prompt, output = (sum(mix[name] * LENGTHS[name][k] for name in mix) for k in (0, 1))
        return engine.requests_per_second(prompt, output, 2.0, 0.1)

    true, found = served(later) / served(LEARNED), mix_of(buckets(later))
    assert found.applied
    assert abs(found.planned - true) < 0.75 * abs(1 - true)


def test_of_shorter_requests_only_the_sure_gain_is_planned_with() -> None:
    found = mix_of(buckets({"0-1k": 0.95, "1k-4k": 0.05, "4k-16k": 0.0}))
    assert found.applied and 1 < found.planned == found.low < found.factor
    assert Capacity(10.0, 8.0, 12.0, "frontier").at(found).value == pytest.approx(10 * found.low)


def test_too_few_requests_of_a_bucket_leave_capacity_pool_wide_and_say_so() -> None:
    told = buckets({"0-1k": 0.2, "1k-4k": 0.3, "4k-16k": 0.5})
    found = mix_of([*told[:2], replace(told[2], requests=29)])
    assert (found.applied, found.because) == (False, "pool-wide: fewer than 30 requests in 4k-16k")


def test_a_rare_bucket_without_data_does_not_stand_in_the_way() -> None:
    rare = Bucket("64k-256k", 3, 90_000.0, 100.0, 0.005, 0.01)
    assert mix_of([*buckets({"0-1k": 0.2, "1k-4k": 0.3, "4k-16k": 0.5}), rare]).applied


def test_unknown_lengths_or_mixes_are_not_guessed() -> None:
    assert mix_of([]).because == "pool-wide: no lengths of requests are known"
    unknown = [replace(one, horizon_share=nan) for one in buckets(LEARNED)]
    assert mix_of(unknown).because == "pool-wide: one of the mixes is unknown"
    silent = [replace(one, computed_tokens=nan) for one in buckets(LEARNED)]
    assert mix_of(silent).because == "pool-wide: tokens of some requests are unknown"


def test_long_prompts_against_long_outputs_are_not_sure() -> None:
    prompts = Bucket("1k-4k", 500, 2000.0, 50.0, 0.2, 0.8)
    outputs = Bucket("0-1k", 500, 100.0, 500.0, 0.8, 0.2)
    found = mix_of([prompts, outputs])
    assert not found.applied and found.low < 1 < found.high


def test_a_change_within_the_scatter_of_few_requests_is_none() -> None:
    told = buckets({"0-1k": 0.7, "1k-4k": 0.2, "4k-16k": 0.1})
    assert mix_of(told, newest=2000).applied
    found = mix_of(told, newest=30)
    assert (found.applied, found.planned) == (False, 1.0)
    assert found.because == "pool-wide: what the lengths at the horizon cost is not sure"


def test_a_line_foretells_rare_requests_right_on_average() -> None:
    generator = np.random.default_rng(4)  # one in six steps has a request: the median of a step is none
    draws = [trend(generator.poisson(1 / 6, 240).astype(float), 18.0) for _ in range(1000)]
    assert np.mean(draws) == pytest.approx(1 / 6, rel=0.05)
    assert trend(np.arange(10.0), 5.0) == pytest.approx(14.5)
    assert trend(np.arange(10.0)[::-1], 50.0) == 0.0
    assert trend(np.empty(0), 3.0) == 0.0


def test_a_line_at_its_lead_says_as_much_as_fewer_requests() -> None:
    generator = np.random.default_rng(5)
    draws = [trend(generator.poisson(10.0, 60).astype(float), 12.0) for _ in range(3000)]
    assert np.var(draws) == pytest.approx(10.0**2 / worth(600, 60, 12.0), rel=0.1)

"""Speculation in a batch: pays while the step is bound by memory, harms once every token costs."""

from __future__ import annotations

import pytest

from analytics.planners.acceptance import acceptance_from_length, speedup, tokens_per_step
from analytics.planners.step_time import StepTime


def test_without_a_cost_per_token_it_is_the_small_batch_speed_up() -> None:
    time = StepTime(0.02, 0.0, 0.05)
    assert time.speedup(64, 0.8, 3) == pytest.approx(speedup(0.8, 3, 0.05))


def test_speed_up_falls_with_the_batch() -> None:
    time = StepTime(0.02, 4e-5, 0.05)
    speeds = [time.speedup(batch, 0.7, 3) for batch in (1, 16, 64, 256, 1024)]
    assert speeds == sorted(speeds, reverse=True)
    assert speeds[0] > 1 > speeds[-1]


@pytest.mark.parametrize("batch", [1, 64, 256])
def test_at_break_even_acceptance_it_neither_helps_nor_harms(batch: int) -> None:
    time = StepTime(0.02, 4e-5, 0.05)
    even = time.break_even_acceptance(batch, 3)
    assert even is not None
    assert time.speedup(batch, even, 3) == pytest.approx(1.0, abs=1e-6)


def test_there_is_no_break_even_where_even_perfect_drafts_harm() -> None:
    assert StepTime(0.001, 1e-3, 0.5).break_even_acceptance(4096, 4) is None


def test_the_best_number_of_drafts_is_none_at_large_batches() -> None:
    time = StepTime(0.02, 4e-5, 0.05)
    assert time.best_drafts(1, 0.8, 8) > time.best_drafts(256, 0.8, 8) > 0
    assert time.best_drafts(100_000, 0.8, 8) == 0


@pytest.mark.parametrize("acceptance", [0.1, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("drafts", [1, 3, 8])
def test_acceptance_is_found_again_whatever_the_number_of_drafts(acceptance: float, drafts: int) -> None:
    accepted = tokens_per_step(acceptance, drafts) - 1
    assert acceptance_from_length(accepted, drafts) == pytest.approx(acceptance, abs=1e-9)


def test_raw_acceptance_falls_with_drafts_though_nothing_changed() -> None:
    raw = [(tokens_per_step(0.8, drafts) - 1) / drafts for drafts in (1, 3, 8)]
    assert raw == sorted(raw, reverse=True)

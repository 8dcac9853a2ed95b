"""Rollout waits for the longest answer as much as its mode demands, and no more."""

from __future__ import annotations

import pytest

from analytics.planners.distribution import Distribution
from analytics.planners.rollout_pipeline import NEVER_WAITS, answers_of, run_pipeline

LONG_TAIL = Distribution((0.0, 0.9, 1.0), (100.0, 1000.0, 10_000.0))


def test_synchronous_utilisation_is_mean_over_longest() -> None:
    answers = answers_of(LONG_TAIL, 500)
    expected = sum(answers) / len(answers) / max(answers)
    assert run_pipeline(answers, 0).utilisation == pytest.approx(expected)


def test_running_ahead_uses_more_and_samples_get_older() -> None:
    answers = answers_of(LONG_TAIL, 500)
    runs = [run_pipeline(answers, ahead) for ahead in (0, 1, 2, NEVER_WAITS)]
    assert [run.utilisation for run in runs] == sorted(run.utilisation for run in runs)
    assert [run.staleness_mean_steps for run in runs] == sorted(run.staleness_mean_steps for run in runs)
    assert runs[-1].utilisation > 0.9


def test_synchronous_samples_are_never_stale() -> None:
    assert run_pipeline(answers_of(LONG_TAIL, 500), 0).staleness_max_steps == 0


def test_one_step_ahead_is_at_most_one_step_stale() -> None:
    assert run_pipeline(answers_of(LONG_TAIL, 500), 1).staleness_max_steps <= 1


def test_even_answers_need_no_asynchrony() -> None:
    even = Distribution((0.0, 1.0), (500.0, 500.0))
    assert run_pipeline(answers_of(even, 64), 0).utilisation == pytest.approx(1.0)


def test_more_samples_have_a_longer_longest() -> None:
    assert max(answers_of(LONG_TAIL, 2_000)) > max(answers_of(LONG_TAIL, 20))

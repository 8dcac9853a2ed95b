"""Look-alikes of demand and of limits: a burst and its backlog, full memory and what filled it, a slow gateway."""

from __future__ import annotations

import numpy as np

from analytics.rootcause.form import hint
from collector.answers.explain import explain
from collector.store.reader import DuckReader
from tests.unit.analytics.rootcause.incident_stories import CALM_SECONDS, END, MODEL, ONSET, Story


def first(story: Story) -> str:
    answer = explain(DuckReader(story.store()), END, model=MODEL, start=ONSET, end=END)
    causes = answer["causes"]
    assert isinstance(causes, list)
    return str(causes[0]["cause"])


def more_requests(story: Story, count: int, until: float) -> None:
    """Add requests between the onset and `until`, of the kinds that there are."""
    chosen = story.rng.integers(0, len(story.t), count)
    t = np.concatenate([story.t, story.rng.uniform(CALM_SECONDS, until, count)])
    order = np.argsort(t, kind="stable")
    story.t = t[order]
    story.r = {name: np.concatenate([values, values[chosen]])[order] for name, values in story.r.items()}


def queue_at_seats(story: Story, depth: np.ndarray) -> None:
    """Let every seat be taken and `depth` requests wait at each instance while the incident lasts."""
    story.s["queue_depth"] = np.where(story.busy, depth, 0.0)
    story.s["queue_max"] = story.s["queue_depth"].copy()
    story.s["running"] = np.where(story.busy, 8.0, story.s["running"])
    story.r["queue"] = story.r["queue"] + np.where(story.during, story.rng.gamma(3, 3, len(story.t)), 0)


def test_a_queue_that_grows_with_arrivals_is_traffic() -> None:
    story = Story()
    more_requests(story, 1200, CALM_SECONDS + 900)
    queue_at_seats(story, (story.s["t"] - CALM_SECONDS) / 15)
    assert first(story) == "traffic_spike"


def test_a_backlog_that_stands_after_its_burst_before_free_memory_is_admission() -> None:
    story = Story()
    more_requests(story, 500, CALM_SECONDS + 90)
    queue_at_seats(story, np.minimum(story.s["t"] - CALM_SECONDS + 15, 90) / 2)
    assert first(story) == "admission_blocked"


def fill_memory(story: Story, running: float) -> None:
    for name in ("kv_usage_ratio", "kv_usage_max_ratio"):
        story.s[name] = np.where(story.busy, story.rng.uniform(0.93, 1.0, len(story.s["t"])), story.s[name])
    story.s["queue_depth"] = np.where(story.busy, 10.0, 0.0)
    story.s["running"] = np.where(story.busy, running, story.s["running"])
    story.r["queue"] = story.r["queue"] + np.where(story.during, story.rng.gamma(3, 2, len(story.t)), 0)


def test_full_memory_that_keeps_requests_out_counts_without_anything_thrown_out() -> None:
    story = Story()
    fill_memory(story, running=3.0)
    assert first(story) == "preemption"


def test_a_flood_of_long_prompts_is_the_cause_and_full_memory_its_effect() -> None:
    story = Story()
    fill_memory(story, running=3.0)
    story.s["preemptions"] = np.where(story.busy, 2.0, 0.0)
    long = story.during & (story.rng.random(len(story.t)) < 0.15)
    story.r["tokens"] = np.where(long, 40_000, story.r["tokens"])
    story.r["cached"] = np.where(long, 0, story.r["cached"])
    story.r["prefill"] = np.where(long, 10.0, story.r["prefill"])
    assert first(story) == "long_requests"


def test_a_gateway_that_adds_little_to_long_answers_is_no_artefact() -> None:
    story = Story()
    story.r["output"] = story.r["output"] * 10
    story.r["gateway"] = story.r["gateway"] + np.where(story.during, story.rng.gamma(3, 0.15, len(story.t)), 0)
    story.r["output"] = np.where(story.during, story.r["output"] * 0.98, story.r["output"]).astype(int)
    assert first(story) == "gateway_overhead"


def test_one_slow_instance_is_named_however_long_its_queue() -> None:
    story = Story()
    mask = story.on("b")
    story.r["prefill"] = np.where(mask, story.r["prefill"] * 4, story.r["prefill"])
    story.r["pace"] = np.where(mask, story.r["pace"] * 4, story.r["pace"])
    story.r["queue"] = story.r["queue"] + np.where(mask, story.rng.gamma(3, 8, len(mask)), 0)
    story.s["queue_depth"] = np.where(story.sampled("b"), 40.0, story.s["queue_depth"])
    assert first(story) == "slow_prefill"


def test_a_faint_sign_counts_as_none_and_a_clear_one_in_full() -> None:
    assert [hint(value) for value in (None, 0.3, 0.7)] == [None, None, 1.0]

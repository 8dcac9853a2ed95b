"""Look-alikes of sparse and restless records: waves of traffic, half the stages, drafts without pages, rollouts."""

from __future__ import annotations

import numpy as np

from collector.answers.explain import explain
from collector.store.reader import DuckReader
from tests.unit.analytics.rootcause.incident_stories import CALM_SECONDS, END, INSTANCES, MODEL, ONSET, Story
from tests.unit.analytics.rootcause.test_demand_or_limits import more_requests, queue_at_seats


def asked(story: Story, *lost: str, pages: bool = True, metric: str = "ttft") -> dict[str, object]:
    """Explain a story after taking columns of requests, or all pages, away."""
    connection = story.store()
    for column in lost:
        connection.execute(f"update requests set {column} = null")
    if not pages:
        connection.execute("delete from engine_samples")
    return explain(DuckReader(connection), END, model=MODEL, metric=metric, start=ONSET, end=END)


def first(answer: dict[str, object]) -> str | None:
    causes = answer["causes"]
    assert isinstance(causes, list)
    return str(causes[0]["cause"]) if causes else None


def waiting(story: Story) -> Story:
    """Let requests wait for a seat: the queue alone grew."""
    queue_at_seats(story, np.full(len(story.s["t"]), 12.0))
    story.s["running"] = np.where(story.busy, 3.0, story.s["running"])
    return story


def test_a_stage_that_is_not_recorded_is_read_from_the_whole_and_the_other() -> None:
    answer = asked(waiting(Story()), "queue_seconds")
    assert answer["stage"] == "queue"
    assert first(answer) == "admission_blocked"


def test_time_that_no_span_tells_is_not_the_gateways_where_pages_tell_the_queue() -> None:
    story = waiting(Story())
    story.s["queue_seconds_sum"] = np.where(story.busy, 40.0, 0.1)
    story.s["prefill_seconds_sum"] = np.full(len(story.s["t"]), 0.5)
    answer = asked(story, "queue_seconds", "engine_ttft_seconds", "gateway_seconds")
    assert answer["stage"] == "queue"
    assert first(answer) != "gateway_overhead"


def test_a_wave_of_traffic_that_was_served_before_is_no_spike() -> None:
    """A third more than the mean arrives, as it did twice in the calm hour; what changed is that masks are slow."""
    story = Story()
    for start in (600.0, 2200.0, float(CALM_SECONDS)):
        chosen = story.rng.integers(0, len(story.t), 350)
        t = np.concatenate([story.t, story.rng.uniform(start, start + 900, 350)])
        order = np.argsort(t, kind="stable")
        story.t = t[order]
        story.r = {name: np.concatenate([values, values[chosen]])[order] for name, values in story.r.items()}
    queue_at_seats(story, np.full(len(story.s["t"]), 6.0))
    causes = asked(story)["causes"]
    assert isinstance(causes, list)
    scores = {cause["cause"]: cause["score"] for cause in causes}
    assert scores.get("traffic_spike", 0.0) < 0.5
    assert causes[0]["cause"] != "traffic_spike"


def test_a_spike_beyond_every_wave_stays_a_spike() -> None:
    story = Story()
    more_requests(story, 900, CALM_SECONDS + 900)
    queue_at_seats(story, (story.s["t"] - CALM_SECONDS) / 15)
    assert first(asked(story)) == "traffic_spike"


def test_longer_drafts_are_told_from_worse_ones_without_pages() -> None:
    """Each position is accepted as often; there are twice as many, so that fewer of all count."""
    story = Story()
    story.speculate()
    per_position, counts = 0.7, np.where(story.during, 8.0, 3.0)
    won = per_position * (1 - per_position**counts) / (1 - per_position)
    steps = story.r["output"] / (1 + won)
    story.r["draft"], story.r["accepted"] = (steps * counts).astype(int), (steps * won).astype(int)
    story.r["pace"] = np.where(story.during, story.r["pace"] * 1.8, story.r["pace"])
    assert first(asked(story, pages=False, metric="tpot")) == "speculation_overhead"


def test_reads_of_a_slow_tier_that_hold_requests_back_are_not_admission() -> None:
    story = waiting(Story())
    story.s["external_hit_tokens"] = np.full(len(story.s["t"]), 800.0)
    story.signals["kv_tier_read_seconds"] = (0.02, 0.9)
    assert first(asked(story)) == "cache_tier_slow"


def test_one_that_draws_what_all_had_makes_none_of_them_gone() -> None:
    story = Story()
    moved = story.during & (story.r["instance"] != "a") & (story.rng.random(len(story.t)) < 0.7)
    story.r["instance"] = np.where(moved, "a", story.r["instance"])
    story.r["queue"] = story.r["queue"] + np.where(story.on("a"), story.rng.gamma(3, 3, len(story.t)), 0)
    story.s["queue_depth"] = np.where(story.sampled("a"), 30.0, story.s["queue_depth"])
    assert len(INSTANCES) == 4
    assert first(asked(story)) == "routing_hotspot"


def test_a_version_that_served_well_before_the_onset_is_no_regression() -> None:
    """The version came half an hour before; at the onset every instance slowed."""
    story = Story()
    new = (story.t >= CALM_SECONDS - 1500) & (story.rng.random(len(story.t)) < 0.9)
    story.r["version"] = np.where(new, "v2", "v1").astype(object)
    story.changes.append({"kind": "release", "summary": "v2 out", "version": "v2"})
    story.r["prefill"] = np.where(story.during, story.r["prefill"] * 4, story.r["prefill"])
    assert first(asked(story)) == "slow_prefill"


def test_long_prompts_that_slow_all_decoding_are_told_by_what_is_to_compute() -> None:
    """Decoding beside long prompts takes so long that prefill is a small part of the time seats are held."""
    story = Story()
    long = story.during & (story.rng.random(len(story.t)) < 0.05)
    story.r["tokens"] = np.where(long, 50_000, story.r["tokens"])
    story.r["cached"] = np.where(long, 0, story.r["cached"])
    story.r["pace"] = np.where(story.during, story.r["pace"] * 12, story.r["pace"])
    queue_at_seats(story, np.full(len(story.s["t"]), 30.0))
    story.r["queue"] = story.r["queue"] + np.where(story.during, 20.0, 0.0)
    assert first(asked(story)) == "long_requests"


def test_masks_that_take_a_sliver_of_a_step_hold_nobody_up() -> None:
    """Twice the masks in a batch twice as large are still a hundredth of the step."""
    story = Story()
    more_requests(story, 1200, CALM_SECONDS + 900)
    story.r["structured"] = story.rng.random(len(story.t)) < 0.3
    queue_at_seats(story, (story.s["t"] - CALM_SECONDS) / 15)
    story.s["grammar_seconds"] = np.where(story.busy, 0.15, story.s["grammar_seconds"])
    causes = asked(story)["causes"]
    assert isinstance(causes, list)
    assert causes[0]["cause"] == "traffic_spike"
    assert "grammar_cpu" not in [cause["cause"] for cause in causes]


def test_instances_restarted_for_a_slower_release_are_not_cold_starts() -> None:
    story = Story()
    story.r["prefill"] = np.where(story.on("a") | story.on("b"), story.r["prefill"] * 5, story.r["prefill"])
    story.lives = {"a": float(CALM_SECONDS), "b": float(CALM_SECONDS)}
    story.changes.append({"kind": "release", "summary": "v2 out", "version": "v2"})
    assert first(asked(story, "model_version")) == "release_regression"

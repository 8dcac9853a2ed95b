"""The known incident patterns of LLM serving: how each looks, which cause it must be given and which must not win.

The numbers are those of the public incident catalogue in docs/explanation/root-cause.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.unit.analytics.rootcause.incident_stories import CALM_SECONDS, Story


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern: `cause` None = the change is too small to be called an incident."""

    number: int
    name: str
    bend: Callable[[Story], None]
    cause: str | None
    not_causes: tuple[str, ...]
    stage: str | None = None
    metric: str = "ttft"


def _wait(story: Story, mask: np.ndarray, seconds: float) -> None:
    story.r["queue"] = story.r["queue"] + np.where(mask, story.rng.gamma(3, seconds / 3, len(mask)), 0)


def _queue(story: Story, mask: np.ndarray, depth: float, running: float | None = None) -> None:
    story.s["queue_depth"] = np.where(
        mask, story.rng.normal(depth, depth / 6, len(mask)).clip(1), story.s["queue_depth"]
    )
    story.s["queue_max"] = story.s["queue_depth"].copy()
    if running is not None:
        story.s["running"] = np.where(mask, running, story.s["running"])


def long_prompts(story: Story) -> None:
    long = story.during & (story.rng.random(len(story.t)) < 0.06)
    story.r["tokens"] = np.where(long, 30_000, story.r["tokens"])
    story.r["cached"] = np.where(long, 0, story.r["cached"])
    story.r["prefill"] = np.where(long, 12.0, story.r["prefill"])
    _wait(story, story.during & (story.rng.random(len(story.t)) < 0.5), 3)
    _queue(story, story.busy, 6)


def head_of_line(story: Story) -> None:
    _wait(story, story.during, 8)
    _queue(story, story.busy, 12, running=3)


def kv_full(story: Story) -> None:
    _wait(story, story.during, 6)
    _queue(story, story.busy, 10, running=3)
    for name in ("kv_usage_ratio", "kv_usage_max_ratio"):
        story.s[name] = np.where(story.busy, story.rng.uniform(0.93, 1.0, len(story.s["t"])), story.s[name])
    story.s["preemptions"] = np.where(story.busy, 2.0, 0.0)


def one_rank_full(story: Story) -> None:
    story.r["instance"] = np.full(len(story.t), "a", dtype=object)
    keep = story.s["instance"] == "a"
    story.s = {name: values[keep] for name, values in story.s.items()}
    _wait(story, story.during & (story.rng.random(len(story.t)) < 0.3), 7)
    _queue(story, story.busy, 20)
    story.s["kv_usage_max_ratio"] = np.where(story.busy, 0.99, story.s["kv_usage_max_ratio"])
    story.s["kv_usage_ratio"] = np.where(story.busy, 0.5, story.s["kv_usage_ratio"])


def hot_replica(story: Story) -> None:
    moved = story.during & (story.r["instance"] != "a") & (story.rng.random(len(story.t)) < 0.4)
    story.r["instance"] = np.where(moved, "a", story.r["instance"])
    _wait(story, story.on("a"), 6)
    _queue(story, story.sampled("a"), 14, running=12)


def lost_prefixes(story: Story) -> None:
    story.r["cached"] = np.where(story.during, 0, story.r["cached"])
    fresh = (0.04 + 1.2e-4 * story.r["tokens"]) * story.rng.lognormal(0, 0.15, len(story.t))
    story.r["prefill"] = np.where(story.during, fresh * 1.2, story.r["prefill"])


def hits_fall_with_release_and_turns(story: Story) -> None:
    first = story.rng.random(len(story.t)) < np.where(story.during, 0.3, 0.15)
    story.r["turn"] = np.where(first, 1, 3)
    later = np.where(story.during, 0.55, 0.93)
    story.r["cached"] = (story.r["tokens"] * np.where(first, 0.0, later)).astype(int)
    story.changes.append({"kind": "release", "summary": "new prompt templates"})


def one_tokenizer_thread(story: Story) -> None:
    story.r["other"] = story.r["other"] + np.where(story.during, story.rng.gamma(2, 0.5, len(story.t)), 0)


def _stand_still(story: Story, every: float, seconds: float) -> None:
    """Hold everything that is in flight for `seconds` every `every` seconds."""
    phase = (story.t - CALM_SECONDS) % every
    caught = story.during & (phase > every - seconds)
    story.r["queue"] = story.r["queue"] + np.where(caught, every - phase, 0)
    decode = story.r["pace"] * story.r["output"]
    ends = phase + decode
    hit = story.during & ~caught & (ends > every - seconds)
    story.r["pace"] = story.r["pace"] + np.where(hit, seconds / story.r["output"], 0)


def event_loop_stall(story: Story) -> None:
    _stand_still(story, 60, 9)
    story.signals["event_loop_stall_seconds"] = (0.01, 2.0)


def slow_detokenizer(story: Story) -> None:
    story.r["output"] = np.where(
        story.during, story.r["output"] * story.rng.gamma(2, 3, len(story.t)) + 4, story.r["output"]
    ).astype(int)
    story.r["pace"] = np.where(story.during, story.r["pace"] * (1 + story.r["output"] / 1500), story.r["pace"])


def guided_json(story: Story) -> None:
    story.r["structured"] = story.rng.random(len(story.t)) < 0.4
    hit = story.during & story.r["structured"]
    story.r["pace"] = np.where(hit, story.r["pace"] * 2.6, story.r["pace"])
    story.r["pace"] = np.where(story.during & ~hit, story.r["pace"] * 1.2, story.r["pace"])
    story.s["grammar_seconds"] = np.where(story.busy, 4.0, story.s["grammar_seconds"])
    story.changes.append({"kind": "release", "summary": "engine 0.24"})


def speculation_at_large_batch(story: Story) -> None:
    story.speculate()
    story.r["pace"] = np.where(story.during, story.r["pace"] * 1.9, story.r["pace"])
    story.s["running"] = np.where(story.busy, 34.0, story.s["running"])
    story.s["step_seconds"] = np.where(story.busy, story.s["step_seconds"] * 1.9, story.s["step_seconds"])


def draft_lost_its_cache(story: Story) -> None:
    story.speculate(ratio=0.75)
    story.r["accepted"] = np.where(story.during, story.r["draft"] * 0.15, story.r["accepted"]).astype(int)
    story.r["pace"] = np.where(story.during, story.r["pace"] * 1.8, story.r["pace"])
    story.s["spec_accepted_tokens"] = np.where(story.busy, 150.0, story.s["spec_accepted_tokens"])


def adapters_thrash(story: Story) -> None:
    uses = story.rng.random(len(story.t)) < 0.4
    which = np.where(story.during, story.rng.integers(0, 16, len(story.t)), story.rng.integers(0, 8, len(story.t)))
    story.r["adapter"] = np.array([f"lora-{w}" if u else None for u, w in zip(uses, which, strict=True)], dtype=object)
    _wait(story, story.during & uses, 5)
    story.s["adapters_waiting"] = np.where(story.busy, 5.0, 0.0)


def transfers_crawl(story: Story) -> None:
    story.r["transfer"] = story.rng.lognormal(np.log(0.02), 0.3, len(story.t)) * np.where(story.during, 120, 1)


def outer_tier_crawls(story: Story) -> None:
    story.s["external_hit_tokens"] = np.full(len(story.s["t"]), 900.0)
    story.r["prefill"] = story.r["prefill"] + np.where(story.during, story.rng.gamma(2, 0.9, len(story.t)), 0)
    story.signals["kv_offload_load_seconds"] = (0.05, 1.6)


def garbage_collection(story: Story) -> None:
    _stand_still(story, 45, 8)
    story.signals["python_gc_seconds"] = (0.02, 0.8)


def starved_cpu(story: Story) -> None:
    mask = story.on("b")
    story.r["pace"] = np.where(mask, story.r["pace"] * 2.2, story.r["pace"])
    story.r["prefill"] = np.where(mask, story.r["prefill"] * 4 + 0.5, story.r["prefill"])
    story.s["cpu_pressure"] = np.where(story.sampled("b"), 0.45, story.s["cpu_pressure"])
    story.s["sm_active"] = np.where(story.sampled("b"), 0.3, story.s["sm_active"])


def one_weak_gpu(story: Story) -> None:
    mask = story.on("c")
    story.r["pace"] = np.where(mask, story.r["pace"] * 1.5, story.r["pace"])
    story.r["prefill"] = np.where(mask, story.r["prefill"] * 4, story.r["prefill"])
    story.s["power"] = np.where(story.sampled("c"), 350.0, story.s["power"])


def power_cap(story: Story) -> None:
    mask = story.on("c")
    story.r["prefill"] = np.where(mask, story.r["prefill"] * 3.5, story.r["prefill"])
    story.s["sm_clock"] = np.where(story.sampled("c"), 1300.0, story.s["sm_clock"])
    story.s["power"] = np.where(story.sampled("c"), 400.0, story.s["power"])
    story.s["throttled"] = story.sampled("c")


def failing_memory(story: Story) -> None:
    mask = story.on("d")
    story.r["prefill"] = np.where(mask, story.r["prefill"] * 5 + 1, story.r["prefill"])
    story.gpu_events.append({"at": "d", "kind": "xid", "code": 94})


def slow_router(story: Story) -> None:
    story.r["gateway"] = story.r["gateway"] + np.where(story.during, story.rng.gamma(3, 0.4, len(story.t)), 0)


def page_rendering_stalls(story: Story) -> None:
    _stand_still(story, 50, 8)
    story.s["generation_tokens"] = np.where(
        story.busy & (story.rng.random(len(story.s["t"])) < 0.2), 0.0, story.s["generation_tokens"]
    )
    story.s["steps"] = np.where(story.s["generation_tokens"] == 0, 0.0, story.s["steps"])


def log_flood(story: Story) -> None:
    for name in ("prefill", "pace"):
        story.r[name] = np.where(story.during, story.r[name] * 1.03, story.r[name])


def cold_replica(story: Story) -> None:
    calm = ~story.during & (story.r["instance"] == "d")
    story.r["instance"] = np.where(calm, "a", story.r["instance"])
    story.r["prefill"] = np.where(story.on("d"), story.r["prefill"] * 6 + 1, story.r["prefill"])
    story.lives["d"] = CALM_SECONDS - 60.0
    kept = ~((story.s["instance"] == "d") & ~story.busy)
    story.s = {name: values[kept] for name, values in story.s.items()}


def client_coroutine_delay(story: Story) -> None:
    story.r["late_text"] = np.where(story.during, story.rng.gamma(4, 0.3, len(story.t)), 0)


PATTERNS = (
    Pattern(
        1, "few long prompts hold up short ones", long_prompts, "long_requests", ("admission_blocked", "preemption")
    ),
    Pattern(
        2,
        "the head of the line blocks admission",
        head_of_line,
        "admission_blocked",
        ("preemption", "long_requests"),
        "queue",
    ),
    Pattern(
        3, "KV fills and requests are preempted", kv_full, "preemption", ("admission_blocked", "long_requests"), "queue"
    ),
    Pattern(
        4, "one data-parallel rank is full", one_rank_full, "routing_hotspot", ("traffic_spike", "preemption"), "queue"
    ),
    Pattern(
        5, "affinity overloads one replica", hot_replica, "routing_hotspot", ("traffic_spike", "slow_prefill"), "queue"
    ),
    Pattern(
        6, "hits vanish after a restart", lost_prefixes, "prefix_miss", ("long_requests", "slow_prefill"), "prefill"
    ),
    Pattern(
        7,
        "hits fall with a release and with younger sessions",
        hits_fall_with_release_and_turns,
        "prefix_miss",
        ("long_requests",),
        metric="kv_hit",
    ),
    Pattern(
        8,
        "one tokenizer thread serialises",
        one_tokenizer_thread,
        "gateway_overhead",
        ("slow_prefill", "admission_blocked"),
        "other",
    ),
    Pattern(9, "the event loop stalls", event_loop_stall, "engine_pause", ("slow_prefill", "noisy_neighbour")),
    Pattern(
        10, "long outputs slow their own tokens", slow_detokenizer, "output_tail", ("noisy_neighbour",), metric="tpot"
    ),
    Pattern(
        11,
        "grammar masks take longer than a step",
        guided_json,
        "grammar_cpu",
        ("release_regression", "noisy_neighbour"),
        metric="tpot",
    ),
    Pattern(
        12,
        "speculation at a large batch",
        speculation_at_large_batch,
        "speculation_overhead",
        ("acceptance_drop",),
        metric="tpot",
    ),
    Pattern(
        13,
        "the draft lost its cache",
        draft_lost_its_cache,
        "acceptance_drop",
        ("speculation_overhead",),
        metric="tpot",
    ),
    Pattern(14, "more adapters than slots", adapters_thrash, "adapter_swap", ("admission_blocked", "traffic_spike")),
    Pattern(15, "KV transfers crawl", transfers_crawl, "kv_transfer_stall", ("slow_prefill",), "transfer"),
    Pattern(16, "an outer cache tier crawls", outer_tier_crawls, "cache_tier_slow", ("slow_prefill", "prefix_miss")),
    Pattern(
        17,
        "garbage collection stops the engine",
        garbage_collection,
        "engine_pause",
        ("noisy_neighbour", "slow_prefill"),
    ),
    Pattern(18, "a neighbour starves the CPU", starved_cpu, "noisy_neighbour", ("engine_pause", "gpu_throttle")),
    Pattern(
        19, "one GPU draws less power than its peers", one_weak_gpu, "gpu_fault", ("gpu_throttle", "noisy_neighbour")
    ),
    Pattern(20, "a power cap lowers the clock", power_cap, "gpu_throttle", ("gpu_fault", "slow_prefill"), "prefill"),
    Pattern(21, "GPU memory fails", failing_memory, "gpu_fault", ("slow_prefill", "release_regression")),
    Pattern(
        22, "the router is slow", slow_router, "gateway_overhead", ("slow_prefill", "measurement_artefact"), "gateway"
    ),
    Pattern(23, "rendering metrics stalls the engine", page_rendering_stalls, "engine_pause", ("slow_prefill",)),
    Pattern(24, "logging costs three per cent", log_flood, None, ()),
    Pattern(25, "a new replica is cold", cold_replica, "slow_start", ("slow_prefill", "routing_hotspot")),
    Pattern(26, "the client measured late", client_coroutine_delay, "measurement_artefact", ("gateway_overhead",)),
)

"""Breaks what surrounds the engine's loop: gateways, caches, adapters, drafts, grammars, pauses, clocks, scoring."""

from __future__ import annotations

import numpy as np

from benchmarks.faultlab.foreign import faults
from benchmarks.faultlab.foreign.faults import Fault, _during, _named, _of, _owner, _truth
from benchmarks.faultlab.foreign.fleet import Fleet


def gateway_overhead(f: Fleet) -> None:
    """The gateway needs longer before it passes a request on: its workers queue, or each waits a fixed time."""
    if f.rng.random() < 0.6:
        f.gateway_work = f.some(4.0, 12.0)
    else:
        f.gateway_held = f.some(0.3, 5.0)
    _truth(f, "gateway_overhead", [{}], ["gateway", "engine_ttft"], ["measurement_artefact"])


def engine_pause(f: Fleet) -> None:
    """Engines stand still for moments, again and again."""
    places = f.places(float(f.rng.choice([0.05, 1.0])))
    every = float(f.rng.uniform(8, 45))
    for place in places:
        starts = np.arange(f.habits.since + f.rng.uniform(0, every), f.habits.until, every)
        f.pauses[place] = [(float(t), f.some(0.8, min(8.0, 0.5 * every)) * f.level(float(t))) for t in starts]
    _truth(f, "engine_pause", [*_named(f, places), {}], ["pages", "requests+instances"], ["slow_prefill"])


def kv_transfer_stall(f: Fleet) -> None:
    """Computed prompts take long to reach who decodes them."""
    f.split = True
    f.wire = f.some(15, 120)
    _truth(f, "kv_transfer_stall", [{}], ["requests+stages", "pages"], ["gateway_overhead"])


def cache_tier_slow(f: Fleet) -> None:
    """Reads of an outer tier of the cache take long."""
    f.reads_tier = True
    f.traffic.prompt = (f.traffic.prompt * 2).clip(16, 30_000)
    f.traffic.cached = (f.traffic.prompt * f.rng.beta(6, 3, len(f.traffic.t))).astype(np.int64) // 16 * 16
    f.controls["memory"] *= 2
    f.tier_pace = f.some(12, 80)
    _truth(f, "cache_tier_slow", [{}], ["pages"], ["slow_prefill", "admission_blocked"])


def adapter_swap(f: Fleet) -> None:
    """More adapters are asked for than there are slots."""
    hit = _during(f)
    many = int(f.some(14, 60))
    f.traffic.adapter = np.where(hit, f.rng.integers(0, many, len(hit)), f.rng.integers(0, 5, len(hit)))
    _truth(f, "adapter_swap", [{}], ["requests+adapters", "pages"], ["admission_blocked"])


def grammar_cpu(f: Fleet) -> None:
    """Constrained answers hold every step up."""
    share = float(f.rng.uniform(0.1, 0.4))
    f.traffic.structured = f.rng.random(len(f.traffic.t)) < share
    f.bend(range(f.size), "grammar", f.some(0.006, 0.05) / f.controls["grammar"])
    slow = f.rng.lognormal(np.log(f.some(0.4, 4.0)), 0.4, len(f.traffic.t))
    f.traffic.held = f.traffic.held + np.where(f.traffic.structured & _during(f), slow, 0.0)
    metric = "tpot" if f.rng.random() < 0.4 else "ttft"
    _truth(f, "grammar_cpu", [{"structured": "true"}, {}], ["requests", "pages"], ["slow_prefill"], metric)


def _drafting(f: Fleet) -> None:
    f.controls["drafts"], f.controls["accept"] = float(f.rng.choice([2, 3, 4])), float(f.rng.uniform(0.65, 0.85))


def speculation_overhead(f: Fleet) -> None:
    """Longer drafts cost more than they bring."""
    _drafting(f)
    f.bend(range(f.size), "drafts", f.some(3.0, 6.0))
    f.bend(range(f.size), "base", f.some(1.1, 1.5))
    _truth(f, "speculation_overhead", [{}], ["spec"], ["slow_prefill"], "tpot")


def acceptance_drop(f: Fleet) -> None:
    """Fewer drafts are taken: of everybody after a change of weights, or of a tenant whose text is another."""
    _drafting(f)
    owner = _owner(f)
    if owner is None:
        f.bend(range(f.size), "accept", f.some(0.6, 0.1))
    else:
        mine = f.traffic.tenant == owner
        f.traffic.easy = np.where(mine & _during(f), f.some(0.5, 0.1), f.traffic.easy)
    _truth(f, "acceptance_drop", _of(f, owner), ["spec"], ["speculation_overhead"], "tpot")


def slow_scoring(f: Fleet) -> None:
    """Rewards of answers are computed slowly, and requests are over only then."""
    f.scoring = f.some(3.0, 25.0)
    _truth(f, "slow_scoring", [{}], ["pages"], ["output_tail"], "e2e")


def measurement_artefact(f: Fleet) -> None:
    """The clock of who measures runs late on first tokens; nothing is slower."""
    f.late_marks = f.some(0.4, 4.0)
    _truth(f, "measurement_artefact", [{}], ["engine_ttft", "gateway+stages"], ["gateway_overhead"])


def no_fault(f: Fleet) -> None:
    """Break nothing: the days go on, restless as they are."""


FAULTS: dict[str, Fault] = {
    fault.__name__: fault
    for fault in (
        faults.traffic_spike, faults.fewer_instances, faults.slow_start, faults.routing_hotspot, faults.long_requests,
        faults.prefix_miss, faults.preemption, faults.admission_blocked, faults.slow_prefill,
        faults.release_regression, faults.config_regression, faults.noisy_neighbour, faults.gpu_throttle,
        faults.gpu_fault, grammar_cpu, adapter_swap, speculation_overhead, acceptance_drop, kv_transfer_stall,
        cache_tier_slow, gateway_overhead, engine_pause, faults.region_loss, slow_scoring, faults.output_tail,
        measurement_artefact, no_fault,
    )
}  # fmt: skip
#: Fewest instances that a fault needs to be what it is called.
SMALLEST = {
    "fewer_instances": 2, "slow_start": 3, "routing_hotspot": 3, "region_loss": 4, "noisy_neighbour": 2,
    "gpu_throttle": 2, "gpu_fault": 2,
}  # fmt: skip
#: Faults that engines' own pages cannot show in the time to first token.
OUTSIDE_ENGINES = ("gateway_overhead", "measurement_artefact", "slow_scoring")

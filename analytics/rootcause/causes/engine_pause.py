"""Says whether engines stood still for moments (collections, a blocked loop) with work at hand; never slowness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.rootcause.facts.extra import steepest
from analytics.rootcause.facts.service import decode_pace, decode_unevenness, typical_pace
from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, hint, judge, peaked, ramp, rose, steady, told
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift


@dataclass(frozen=True, slots=True)
class Silence:
    """The longest gap between tokens of an instance before and during, and how many gaps beat all before."""

    gap: Shift
    longer: float


def weigh(scene: Scene) -> Finding:
    stalled, silences = scene.engine.by_source("stalled"), _silences(scene)
    collected = steepest(scene, ("gc_", "_gc", "garbage", "pause", "stall", "event_loop"))
    if not stalled and not silences and collected is None:
        return cannot_tell("steps", "first_token_at", "gc seconds")
    name = _suspect(scene, stalled, silences)
    still, silence = stalled.get(name or ""), silences.get(name or "")
    segment = {"instance": name} if name is not None and _alone(scene, name) else {}
    blind = scene.engine.by_source("bad_scrapes").get(name or "")
    pace, prefill = decode_pace(scene, segment), typical_pace(scene, segment)
    longer = None if silence is None else silence.longer
    if silence is not None and not segment:
        longer = float(np.median([item.longer for item in silences.values()]))
    full = scene.engine.shift("kv_peak", name)
    uneven = decode_unevenness(scene, {"instance": name} if name is not None else None)
    jerky = rose(uneven, 1.05, 1.5)
    stood = max(
        ramp(still.rise, 0.05, 0.2) or 0.0 if still else 0.0,
        min(max(ramp(longer, 0.5, 4) or 0.0, rose(uneven, 1.15, 1.6) or 0.0), _queueless(scene, name)),
        (rose(collected, 1.5, 3.0) or 0.0) * 0.9,
    )
    gap = told(silence.gap, "longest silence between tokens, seconds") if silence else None
    clauses = [
        Clause("first_token_at", stood, 2, gap or told(still, "scrapes without a step though requests run"), gate=True),
        Clause("tpot_seconds", hint(jerky), 1, told(uneven, "only requests that were decoding just then suffer")),
        Clause("gc seconds", hint(rose(collected, 1.3, 2.5)), 1, told(collected, "time in collections or stalls")),
        Clause("instance", ramp(scene.fit(segment), 0.3, 0.8), 1.5, gate=True),
        Clause(
            "tpot_seconds", steady(pace, 1.6, 2.6), 1, told(pace, "between silences tokens flow"), gate=pace is not None
        ),
        Clause("kv_usage_ratio", 1.0 if full is None else ramp(full.peak, 1.0, 0.93), 1, gate=True),
        Clause(
            "prefill_seconds", steady(prefill, 1.4, 2.2), 1, told(prefill, "and prompts too"), gate=prefill is not None
        ),
        Clause("scrape_state", hint(ramp(blind.rise, 0.0, 0.2)) if blind else None, 0.3, peaked(blind, "pages failed")),
        Clause(
            "steps", hint(ramp(still.rise, 0.02, 0.1)) if still else None, 0.5, told(still, "scrapes without a step")
        ),
    ]
    return judge(segment, clauses)


def _silences(scene: Scene) -> dict[str, Silence]:
    table = scene.observations.stalls
    if not table or not len(table["instance"]):
        return {}
    columns = (table[name].tolist() for name in ("instance", "gap_before", "gap_during", "long_gaps"))
    return {
        str(name): Silence(Shift("silence_seconds", float(before), float(during)), float(longer))
        for name, before, during, longer in zip(*columns, strict=True)
        if before == before and during == during and before is not None and during is not None
    }


def _queueless(scene: Scene, name: str | None) -> float:
    """Say how far a silence cannot be waiting for a seat: most of the time no queue stands before the instance."""
    if name not in scene.engine.sources:
        return 0.5
    depth = scene.engine.values["queue_depth"][scene.engine.sources.index(name)][scene.engine.during]
    known = depth[np.isfinite(depth)]
    return 0.5 if not len(known) else ramp(float((known > 0).mean()), 0.65, 0.4) or 0.0


def _suspect(scene: Scene, stalled: dict[str, Shift], silences: dict[str, Silence]) -> str | None:
    def weight(name: str) -> float:
        still = stalled[name].rise * 5 if name in stalled else 0.0
        silent = min(silences[name].longer, 10.0) / 5 if name in silences else 0.0
        return still + silent + scene.fit({"instance": name})

    return max(sorted({*stalled, *silences}), key=weight, default=None)


def _alone(scene: Scene, name: str) -> bool:
    return scene.fit({"instance": name}) >= 0.9 * scene.fit({})


CAUSE = Cause(
    "engine_pause",
    "The engine stands still for moments with work at hand",
    "serving",
    ("steps", "first_token_at"),
    ("decode", "other", "queue", "prefill"),
    (
        "gpu_fault",
        "noisy_neighbour",
        "slow_start",
        "preemption",
        "gpu_throttle",
        "long_requests",
        "measurement_artefact",
        "slow_scoring",
    ),
    "Look at garbage collection, the event loop and /metrics scrape durations at the silent moments.",
    "Freeze the heap after start, move blocking work off the loop, restart to clear a grown heap.",
    weigh,
)

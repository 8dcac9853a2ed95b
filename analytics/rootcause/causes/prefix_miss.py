"""Says whether prompts that used to hit the prefix cache no longer do; separates that from a change of who asks."""

from __future__ import annotations

import numpy as np

from analytics.rootcause.facts.demand import input_weight
from analytics.rootcause.facts.service import hit_ratio, prefill_pace, prefill_time
from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, hint, judge, ramp, rose, steady, told
from analytics.rootcause.leaves import leaves_of
from analytics.rootcause.localise import rank
from analytics.rootcause.scene import Scene
from analytics.rootcause.segment import Segment, contrasts
from analytics.rootcause.shift import Shift


def weigh(scene: Scene) -> Finding:
    hits = hit_ratio(scene)
    if hits is None:
        return cannot_tell("cached_tokens", "prefix_hit_tokens")
    missed = Shift("uncached_ratio", 1 - hits.before, 1 - hits.during)
    lost = missing_where(scene)
    segment = dict(lost[0].segment) if lost else {}
    inside = hit_ratio(scene, segment) if segment else hits
    length = input_weight(scene)
    pace, time = prefill_pace(scene), prefill_time(scene, segment)
    drop = max(ramp(hits.rise, -0.02, -0.08) or 0.0, (ramp(inside.rise, -0.05, -0.25) or 0.0) if inside else 0.0)
    clauses = [
        Clause("cached_tokens", drop, 2, told(inside or hits, "share of input tokens read from the cache"), gate=True),
        Clause("cached_tokens", rose(missed, 1.05, 1.3), 1, told(missed, "share of input tokens to compute")),
        Clause("prefill_seconds", _felt(scene, time), 1.5, told(time, "prefill seconds at equal lengths")),
        Clause("prefill_seconds", steady(pace, 1.3, 2.0), 0.5, told(pace, "a computed token costs what it did")),
        Clause("stage", scene.stage_share("prefill", "queue", "transfer", "other"), 0.5),
        Clause(
            "input_tokens",
            1.0 if length is None else steady(length, 1.2, 1.7),
            1,
            told(length, "prompt length"),
            gate=True,
        ),
        Clause("requests", steady(scene.arrivals, 1.3, 2.0), 0.5, told(scene.arrivals, "not simply more requests")),
    ]
    return judge(segment, clauses)


def _felt(scene: Scene, time: Shift | None) -> float | None:
    """Say how far prefill got longer; asked about hits themselves, a miss that nobody felt is one all the same."""
    felt = rose(time, 1.05, 1.4)
    return hint(felt) if scene.observations.metric == "kv_hit" else felt


def missing_where(scene: Scene) -> list[Segment]:
    """Return the segments whose cache misses rose beyond their mix, best first; counts are tokens."""
    cells = scene.observations.cells
    if "cached_of" not in cells or not np.nansum(cells["cached_of"].astype(np.float64)):
        return []
    names = [name for name in scene.observations.dimensions if name in cells]
    table = {name: cells[name] for name in names}
    # Token counts are clumped by request; thousands of tokens stand for one event.
    total = np.nan_to_num(cells["cached_of"].astype(np.float64)) / 1000.0
    missed = total - np.nan_to_num(cells["cached_tokens"].astype(np.float64)) / 1000.0
    for phase in ("before", "during"):
        chosen = cells["phase"] == phase
        table[f"n_{phase}"] = np.where(chosen, total, 0.0)
        table[f"bad_{phase}"] = np.where(chosen, missed, 0.0)
    leaves = leaves_of(table, names)
    return rank(leaves, contrasts(leaves)[0], 2.0)


CAUSE = Cause(
    "prefix_miss",
    "Prompts no longer hit the prefix cache",
    "serving",
    ("cached_tokens",),
    ("prefill", "queue", "transfer", "other"),
    ("cache_tier_slow", "preemption"),
    "Compare hit ratio by tenant, version and turn; compare the first bytes of two prompts of one tenant.",
    "Keep the prompt's head stable, hash prefixes deterministically across restarts, route by prefix again.",
    weigh,
)

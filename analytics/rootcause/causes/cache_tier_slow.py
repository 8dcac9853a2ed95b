"""Says whether reading KV back from a slower tier (host, disk, remote) takes longer; never a lower hit ratio alone."""

from __future__ import annotations

from analytics.rootcause.facts.extra import steepest
from analytics.rootcause.facts.service import hit_ratio, prefill_pace
from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, hint, judge, ramp, rose, told
from analytics.rootcause.scene import Scene

WORDS = ("tier", "offload", "hicache", "external", "read_back", "lmcache", "prefetch", "storage", "kv_load", "mooncake")


def weigh(scene: Scene) -> Finding:
    timed = steepest(scene, [f"{word}" for word in WORDS], ("hit", "tokens", "bytes", "used", "evict", "capacity"))
    outside = scene.engine.quotient("external_hit_ratio", "external_hit_tokens", "prefix_query_tokens")
    io = scene.hosts.shift("io_pressure_ratio")
    if timed is None and outside is None:
        return cannot_tell("external_hit_tokens", "tier read seconds")
    pace, hits = prefill_pace(scene), hit_ratio(scene)
    used = ramp(outside.during, 0.0, 0.1) if outside is not None else None
    known = [rose(timed, 1.3, 2.0), ramp(io.rise, 0.05, 0.3) if io else None]
    slower = max([value for value in known if value is not None], default=None)
    if slower is None:
        slower = min(used or 0.0, rose(pace, 1.2, 1.8) or 0.0) * 0.6
    clauses = [
        Clause("tier read seconds", slower, 3, told(timed or io, "reading KV back takes longer"), gate=True),
        Clause("external_hit_tokens", used, 1, told(outside, "share of prompt tokens from an outer tier")),
        Clause("cached_tokens", None if hits is None else ramp(hits.rise, -0.3, -0.05), 0.5, told(hits, "hit ratio")),
        Clause("stage", scene.stage_share("prefill", "other", "transfer", "queue"), 0.5),
        # Who waits for the tier before admission waits in the queue, and its prefill is as fast as ever.
        Clause("prefill_seconds", hint(rose(pace, 1.05, 1.4)), 1, told(pace, "a prompt takes longer to be ready")),
    ]
    return judge(scene.along("instance", "tenant", "region", "length_bucket") or {}, clauses)


CAUSE = Cause(
    "cache_tier_slow",
    "Reading KV back from a slower tier takes longer",
    "serving",
    ("external_hit_tokens",),
    ("prefill", "other", "transfer", "queue"),
    ("gpu_fault",),
    "Compare read-back seconds by tier with recomputing the same tokens; look at disk and network of the pool.",
    "Recompute when reading back is slower; repair or bypass the tier.",
    weigh,
)

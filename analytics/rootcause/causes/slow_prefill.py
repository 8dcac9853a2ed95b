"""Says whether engines need longer for the same prompt tokens and nothing more specific explains why."""

from __future__ import annotations

from analytics.rootcause.facts.service import hit_ratio, typical_pace
from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, judge, ramp, rose, steady, told
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift


def weigh(scene: Scene) -> Finding:
    segment = scene.along("instance", "model_version", "length_bucket", "region", "prefill_instance") or {}
    pace = typical_pace(scene, segment)
    if pace is None:
        return cannot_tell("prefill_seconds")
    hits = hit_ratio(scene, segment)
    clauses = [
        Clause(
            "prefill_seconds",
            rose(pace, 1.15, 1.6 + 2 * (scene.stage_share("queue") or 0.0)),
            2,
            told(pace, "a prompt token costs more time"),
            gate=True,
        ),
        Clause("stage", scene.stage_share("prefill", "queue"), 0.5),
        Clause("stage", max(ramp(scene.stage_share("prefill"), 0.1, 0.5) or 0.0, _lone(scene, segment, pace)), 2),
        Clause("instance", scene.fit(segment), 1),
        Clause("cached_tokens", None if hits is None else ramp(hits.rise, -0.15, -0.03), 1),
        Clause("requests", steady(scene.arrivals, 1.2, 1.8), 1, told(scene.arrivals, "not simply more requests")),
    ]
    return judge(segment, clauses)


def _lone(scene: Scene, segment: dict[str, str], pace: Shift) -> float:
    """Say how far one instance alone computes slowly: its queue is then a consequence, however long."""
    if not {"instance", "prefill_instance"} & set(segment):
        return 0.0
    return min(ramp(pace.ratio, 1.5, 2.5) or 0.0, ramp(scene.fit(segment), 0.6, 0.9) or 0.0)


CAUSE = Cause(
    "slow_prefill",
    "Prefill needs longer for the same tokens",
    "serving",
    ("prefill_seconds",),
    ("prefill", "queue"),
    ("gpu_throttle", "gpu_fault", "noisy_neighbour", "release_regression", "config_regression", "prefix_miss",
     "slow_start", "cache_tier_slow", "traffic_spike", "long_requests", "fewer_instances", "region_loss",
     "engine_pause", "routing_hotspot", "adapter_swap"),
    "Compare prefill seconds per token across instances; collect GPU clocks, power and host CPU of the slow ones.",
    "Depends on what the comparison shows: replace, repair or roll back the slow part.",
    weigh,
)  # fmt: skip

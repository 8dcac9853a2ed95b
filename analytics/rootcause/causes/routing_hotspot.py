"""Says whether one instance (or one rank) gets more than its share while peers idle; never a slower instance."""

from __future__ import annotations

import numpy as np

from analytics.rootcause.facts.fleet import Fleet, fleet_of
from analytics.rootcause.facts.service import typical_pace
from analytics.rootcause.form import Cause, Clause, Evidence, Finding, cannot_tell, judge, ramp, steady, told
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift


def weigh(scene: Scene) -> Finding:
    fleet = fleet_of(scene)
    if fleet is None or len(fleet.shares) < 2:
        return _ranks(scene)
    kept = {name: share for name, share in fleet.shares.items() if name not in fleet.gone and share[0] > 0}
    grown = {name: during / before for name, (before, during) in kept.items() if during > 0.5 / len(kept)}
    if not grown:
        return cannot_tell("instance")
    # Several may be hot at once; the one to name is the one whose users suffer.
    hot = max(grown, key=lambda name: grown[name] * (0.3 + scene.recall({"instance": name})))
    before, during = kept[hot]
    segment = {"instance": hot}
    others = [ratio for name, ratio in grown.items() if name != hot]
    pace, queue = typical_pace(scene, segment), _peers(scene, hot)
    clauses = [
        Clause(
            "instance",
            ramp(during / before, 1.15, 1.5),
            2,
            Evidence("instance_share", before, during, f"{hot} receives more than its usual share"),
            gate=True,
        ),
        Clause("instance", ramp(scene.recall(segment), 0.25, 0.6), 2, gate=True),
        Clause("instance", ramp(float(np.median(others)) if others else 1.0, 1.15, 0.97), 1, gate=True),
        Clause("prefill_seconds", steady(pace, 1.4, 2.2), 1, told(pace, f"{hot} computes a token as fast as before")),
        Clause("queue_depth", ramp(queue.ratio, 1.5, 4), 1, told(queue, "queue of the peers against the hot one"))
        if queue is not None
        else Clause("queue_depth", None),
        Clause("lost_share", ramp(_lost(fleet), 0.1, 0.0), 1),
    ]
    return judge(segment, clauses)


def _lost(fleet: Fleet) -> float:
    return fleet.lost_share


def _peers(scene: Scene, hot: str) -> Shift | None:
    queues = scene.engine.by_source("queue_depth")
    if hot not in queues or len(queues) < 2:
        return None
    rest = float(np.mean([shift.during for name, shift in queues.items() if name != hot]))
    return Shift("queue_depth", rest, queues[hot].during)


def _ranks(scene: Scene) -> Finding:
    """Judge one instance of several data-parallel ranks: the fullest rank against their mean."""
    fullest, mean = scene.engine.shift("kv_usage_max_ratio"), scene.engine.shift("kv_usage_ratio")
    deepest, total = scene.engine.shift("queue_max"), scene.engine.shift("queue_depth")
    if fullest is None or mean is None or deepest is None or total is None:
        return cannot_tell("instance", "queue_max", "kv_usage_max_ratio")
    gap = Shift("kv_usage_max_ratio - kv_usage_ratio", fullest.before - mean.before, fullest.during - mean.during)
    clauses = [
        Clause("kv_usage_max_ratio", ramp(gap.rise, 0.1, 0.35), 1, told(gap, "one rank fills up, not all"), gate=True),
        Clause("queue_max", ramp(deepest.during, 1, 8), 1, told(deepest, "the queue stands at the fullest rank")),
    ]
    return judge(scene.focus, clauses)


CAUSE = Cause(
    "routing_hotspot",
    "The router overloads one instance while others idle",
    "serving",
    ("instance",),
    ("queue", "prefill", "other", "decode"),
    ("fewer_instances", "region_loss", "slow_start"),
    "Compare each instance's share of requests, its queue and its prefix hits; read the router's scores.",
    "Bound affinity by load (score = match - β · relative load), or cap requests per instance.",
    weigh,
)

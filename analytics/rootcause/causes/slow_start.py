"""Says whether freshly started instances serve their first requests slowly; never instances that were there before."""

from __future__ import annotations

from analytics.rootcause.facts.fleet import fleet_of, fresh
from analytics.rootcause.form import Cause, Clause, Evidence, Finding, cannot_tell, judge, ramp
from analytics.rootcause.scene import Scene


def weigh(scene: Scene) -> Finding:
    fleet = fleet_of(scene)
    if fleet is None:
        return cannot_tell("instance")
    names = [name for name in fresh(fleet) if fleet.shares.get(name, (0.0, 0.0))[1] > 0]
    if not names:
        none = Evidence("instance_starts", 0.0, 0.0, "no instance started near the onset")
        return judge({}, [Clause("started_at", 0.0, 1, none, gate=True)])
    recall = sum(scene.recall({"instance": name}) for name in names)
    worst = max(names, key=lambda name: scene.fit({"instance": name}))
    share = sum(fleet.shares[name][1] for name in names)
    clauses = [
        Clause(
            "started_at",
            ramp(recall, 0.25, 0.6),
            2,
            Evidence("fresh_instances", None, ", ".join(names), "started shortly before and hold the excess"),
            gate=True,
        ),
        Clause(
            "instance",
            ramp(recall / max(share, 1e-9), 1.5, 3.0),
            2,
            Evidence("excess_share", share, recall, "share of the traffic against share of the excess"),
            gate=True,
        ),
        Clause("instance", scene.fit({"instance": worst}) if len(names) == 1 else 1.0, 1),
    ]
    return judge({"instance": worst}, clauses)


CAUSE = Cause(
    "slow_start",
    "New instances are slow while they warm up",
    "serving",
    ("instance", "started_at"),
    ("queue", "prefill", "decode", "other", "transfer"),
    ("gpu_fault", "gpu_throttle", "noisy_neighbour", "release_regression"),
    "Compare latency by age of the instance; look for compilation and cache loading in its first minutes.",
    "Warm up before readiness (all shapes, all graphs), and start earlier than the load needs.",
    weigh,
)

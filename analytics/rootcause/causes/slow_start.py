"""Says whether freshly started instances serve their first requests slowly; never instances that were there before."""

from __future__ import annotations

from analytics.rootcause.facts.fleet import Fleet, fleet_of, fresh
from analytics.rootcause.form import Cause, Clause, Evidence, Finding, cannot_tell, judge, ramp
from analytics.rootcause.scene import Scene

#: What is left of the cause where an instance was restarted to take a new version.
ROLLED_OUT = 0.55


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
        Clause("changes", ROLLED_OUT if _rolled_out(scene, fleet, worst) else 1.0, gate=True),
    ]
    return judge({"instance": worst}, clauses)


def _rolled_out(scene: Scene, fleet: Fleet, name: str) -> bool:
    """Say whether the instance served before and was restarted for a release: what it brought is then in question."""
    served = fleet.shares[name][0] > 0.3 / max(len(fleet.shares), 1)
    return served and any(change.kind == "release" and change.weight > 0.1 for change in scene.changes)


CAUSE = Cause(
    "slow_start",
    "New instances are slow while they warm up",
    "serving",
    ("instance", "started_at"),
    ("queue", "prefill", "decode", "other", "transfer"),
    ("gpu_fault", "gpu_throttle", "noisy_neighbour"),
    "Compare latency by age of the instance; look for compilation and cache loading in its first minutes.",
    "Warm up before readiness (all shapes, all graphs), and start earlier than the load needs.",
    weigh,
)

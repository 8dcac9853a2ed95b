"""Says whether instances went away and left their share to the others; never a whole region (see region_loss)."""

from __future__ import annotations

from analytics.rootcause.facts.fleet import fleet_of
from analytics.rootcause.form import Cause, Clause, Evidence, Finding, cannot_tell, judge, ramp, steady, told
from analytics.rootcause.scene import Scene


def weigh(scene: Scene) -> Finding:
    fleet = fleet_of(scene)
    if fleet is None:
        return cannot_tell("instance")
    names = tuple(dict.fromkeys((*fleet.gone, *(n for n in fleet.stopped if n in fleet.shares))))
    serving = Evidence(
        "instances",
        float(fleet.serving_before),
        float(fleet.serving_during),
        f"stopped serving: {', '.join(names)}" if names else "as many instances serve as before",
    )
    held = Evidence("lost_share", None, fleet.lost_share, "share of the traffic that they used to take")
    left = {k: during / before for k, (before, during) in fleet.shares.items() if before > 0 and k not in fleet.gone}
    spread = min(left.values(), default=0.0)
    clauses = [
        Clause("instance", ramp(fleet.lost_share, 0.03, 0.1), 2, serving, gate=True),
        Clause("instance", ramp(fleet.lost_share, 0.05, 0.2), 1, held),
        Clause("instances", 1.0 if set(names) & set(fleet.stopped) else 0.6, 1),
        Clause("requests", steady(scene.arrivals, 1.1, 1.6), 1, told(scene.arrivals, "arrivals did not rise")),
        Clause("queue_seconds", scene.stage_share("queue"), 1),
        Clause("instance", ramp(spread, 0.7, 1.0), 1),
    ]
    return judge({}, clauses)


CAUSE = Cause(
    "fewer_instances",
    "Instances stopped serving and the rest take their share",
    "capacity",
    ("instance",),
    ("queue", "prefill", "decode", "other"),
    ("region_loss", "gpu_fault"),
    "Look at why the named instances stopped: events of their pods, exits, evictions, drains.",
    "Bring them back or add replacements; keep N+1 so that one loss fits.",
    weigh,
)

"""Says whether a whole region stopped serving and others absorb its requests; never single instances."""

from __future__ import annotations

from analytics.rootcause.facts.fleet import fleet_of
from analytics.rootcause.form import Cause, Clause, Evidence, Finding, cannot_tell, judge, ramp
from analytics.rootcause.scene import Scene


def weigh(scene: Scene) -> Finding:
    shares = scene.requests.shares("region")
    if len(shares) < 2:
        return cannot_tell("region")
    fleet = fleet_of(scene)
    lost = fleet.regions_gone if fleet is not None else ()
    before = sum(shares[name][0] for name in lost)
    absorbing = {name: during / share for name, (share, during) in shares.items() if name not in lost and share > 0}
    heir = max(absorbing, key=lambda name: absorbing[name], default="")
    evidence = Evidence(
        "region_share",
        before,
        sum(shares[name][1] for name in lost),
        f"{', '.join(lost)} serves no longer, {heir} takes over" if lost else "every region keeps its share",
    )
    clauses = [
        Clause("region", ramp(before, 0.05, 0.15), 2, evidence, gate=True),
        Clause("region", ramp(max(absorbing.values(), default=0.0), 1.05, 1.2), 1),
        Clause("queue_seconds", scene.stage_share("queue", "gateway"), 1),
    ]
    return judge(_segment(scene, lost, heir), clauses)


def _segment(scene: Scene, lost: tuple[str, ...], heir: str) -> dict[str, str]:
    """Return the region that was lost; the victims sit in the one that absorbed it, which the evidence names."""
    return {"region": lost[0]} if lost else ({"region": heir} if heir and scene.segments else {})


CAUSE = Cause(
    "region_loss",
    "A region is gone and the others absorb its traffic",
    "capacity",
    ("region",),
    ("queue", "prefill", "gateway", "transfer", "other", "decode"),
    (),
    "Check the region's health and the routing weights; see which class of traffic may wait.",
    "Rate-limit the shift, defer deferrable classes, add instances where the traffic went.",
    weigh,
)

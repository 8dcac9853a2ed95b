"""Says whether a configuration change took effect just before and made serving worse; never an idle one."""

from __future__ import annotations

from analytics.rootcause.facts.demand import input_weight
from analytics.rootcause.facts.fleet import fleet_of
from analytics.rootcause.facts.hardware import faults
from analytics.rootcause.facts.seats import fullest
from analytics.rootcause.facts.service import decode_pace, prefill_pace
from analytics.rootcause.form import Cause, Clause, Evidence, Finding, cannot_tell, judge, ramp, rose, steady, told
from analytics.rootcause.scene import Scene


def weigh(scene: Scene) -> Finding:
    if not scene.observations.changes:
        return cannot_tell("changes")
    made = [change for change in scene.changes if change.kind == "config"]
    if not made:
        none = Evidence("changes", None, "none", "no configuration change near the onset")
        return judge({}, [Clause("changes", 0.0, 1, none, gate=True)])
    change = made[0]
    segment = _segment(scene, change.scope)
    pace = prefill_pace(scene, segment)
    what = Evidence("changes", None, change.summary, f"configuration changed {change.lag_seconds:.0f} s before")
    fleet = fleet_of(scene)
    clauses = [
        Clause("changes", ramp(change.weight, 0.1, 0.5), 2, what, gate=True),
        Clause("changes", ramp(change.placebo, 0.6, 0.2), 1),
        Clause("instance", ramp(scene.fit(segment), 0.4, 0.85), 2, gate=True),
        Clause("prefill_seconds", _effect(scene, segment), 2, told(pace, "work takes longer, or seats were lost")),
        Clause(
            "requests", steady(scene.arrivals, 1.15, 1.5), 2, told(scene.arrivals, "arrivals did not rise"), gate=True
        ),
        Clause("input_tokens", steady(input_weight(scene), 1.2, 1.8), 1, gate=True),
        Clause("instance", None if fleet is None else ramp(fleet.lost_share, 0.1, 0.02), 1, gate=True),
        Clause("gpu_events", 0.2 if faults(scene) else 1.0, 1),
    ]
    return judge(segment, [clause for clause in clauses if not (clause.gate and clause.holds is None)])


def _effect(scene: Scene, segment: dict[str, str]) -> float | None:
    """Say how far any lever of a configuration shows: slower tokens, or fewer seats than were used before."""
    seats = fullest(scene)
    lost = None
    if seats is not None and seats.cap is not None and seats.cap_before and seats.queue.peak > 2:
        lost = ramp(seats.cap / seats.cap_before, 1.0, 0.7)
    seen = [rose(prefill_pace(scene, segment), 1.1, 1.4), rose(decode_pace(scene, segment), 1.1, 1.4), lost]
    known = [value for value in seen if value is not None]
    return max(known) if known else None


def _segment(scene: Scene, scope: object) -> dict[str, str]:
    if isinstance(scope, dict):
        for name in ("instance", "region", "tenant", "model_version"):
            if name in scope and scene.fit({name: scope[name]}) > 0.6:
                return {name: scope[name]}
    return scene.along("instance", "region", "model_version", "tenant") or {}


CAUSE = Cause(
    "config_regression",
    "A configuration change made serving worse",
    "serving",
    ("changes",),
    ("queue", "prefill", "decode", "other", "transfer", "gateway"),
    ("gpu_fault", "gpu_throttle", "noisy_neighbour", "release_regression", "fewer_instances", "region_loss"),
    "Read the change and compare an instance that has it with one that does not.",
    "Revert it, then re-apply it to one instance at a time.",
    weigh,
)

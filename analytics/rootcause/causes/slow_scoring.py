"""Says whether scoring of rollouts takes longer, so that generation waits for it; only where rewards are exported."""

from __future__ import annotations

from analytics.rootcause.facts.extra import steepest
from analytics.rootcause.facts.service import decode_pace
from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, judge, rose, steady, told
from analytics.rootcause.scene import Scene


def weigh(scene: Scene) -> Finding:
    scoring = steepest(scene, ("scor", "reward", "verif", "judge"), ("count", "_total"))
    if scoring is None:
        return cannot_tell("scoring seconds")
    pace = decode_pace(scene)
    clauses = [
        Clause("scoring seconds", rose(scoring, 1.2, 1.8), 2, told(scoring, "scoring takes longer"), gate=True),
        Clause("tpot_seconds", steady(pace, 1.2, 1.8), 1, told(pace, "generation itself is as fast as before")),
    ]
    return judge(scene.along("domain", "tenant") or {}, clauses)


CAUSE = Cause(
    "slow_scoring",
    "Scoring of rollouts takes longer and generation waits",
    "serving",
    ("scoring seconds",),
    ("other", "queue", "decode", "gateway"),
    (),
    "Compare scoring seconds by environment; see whether graders queue or fail.",
    "Score asynchronously, add graders, cut off the slowest.",
    weigh,
)

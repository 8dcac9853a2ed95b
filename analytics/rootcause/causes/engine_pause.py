"""Says whether engines stood still for moments (collections, a blocked loop) with work at hand; never slowness."""

from __future__ import annotations

from analytics.rootcause.facts.extra import steepest
from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, judge, peaked, ramp, rose, told
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift


def weigh(scene: Scene) -> Finding:
    stalled, frozen = scene.engine.by_source("stalled"), scene.engine.by_source("bad_scrapes")
    gaps = _gaps(scene)
    collected = steepest(scene, ("gc_", "_gc", "garbage", "pause", "stall", "event_loop"))
    if not stalled and not gaps and collected is None:
        return cannot_tell("steps", "first_token_at", "gc seconds")
    name = _suspect(scene, stalled, gaps)
    still, gap = stalled.get(name or ""), gaps.get(name or "")
    segment = {"instance": name} if name is not None and _alone(scene, name) else {}
    blind = frozen.get(name or "")
    stood = max(
        ramp(still.rise, 0.03, 0.15) or 0.0 if still else 0.0,
        ramp(gap.ratio, 2.0, 4.0) or 0.0 if gap and gap.during > 1.0 else 0.0,
        rose(collected, 1.5, 3.0) or 0.0,
    )
    clauses = [
        Clause(
            "first_token_at",
            stood,
            2,
            told(gap, "longest silence with requests at hand, seconds")
            or told(still, "share of scrapes without a step though requests run"),
            gate=True,
        ),
        Clause("gc seconds", rose(collected, 1.3, 2.5), 1, told(collected, "time in collections or stalls")),
        Clause("instance", ramp(scene.fit(segment), 0.3, 0.8), 1.5, gate=True),
        Clause(
            "scrape_state", ramp(blind.rise, 0.0, 0.2) if blind else None, 0.3, peaked(blind, "pages failed or froze")
        ),
        Clause("steps", ramp(still.rise, 0.02, 0.1) if still else None, 0.5, told(still, "scrapes without a step")),
    ]
    return judge(segment, clauses)


def _gaps(scene: Scene) -> dict[str, Shift]:
    """Return per instance the longest silence between first tokens while requests waited, before and during."""
    table = scene.observations.stalls
    if not table or not len(table["instance"]):
        return {}
    found = {}
    for name, before, during in zip(
        table["instance"].tolist(), table["gap_before"].tolist(), table["gap_during"].tolist(), strict=True
    ):
        if name is not None and before == before and during == during:
            found[str(name)] = Shift("silence_seconds", float(before), float(during))
    return found


def _suspect(scene: Scene, stalled: dict[str, Shift], gaps: dict[str, Shift]) -> str | None:
    names = {*stalled, *gaps}
    if not names:
        return None
    return max(
        sorted(names),
        key=lambda n: (
            (stalled[n].rise * 5 if n in stalled else 0.0)
            + (min(gaps[n].ratio, 20.0) / 5 if n in gaps else 0.0)
            + scene.fit({"instance": n})
        ),
    )


def _alone(scene: Scene, name: str) -> bool:
    return scene.fit({"instance": name}) >= 0.9 * scene.fit({})


CAUSE = Cause(
    "engine_pause",
    "The engine stands still for moments with work at hand",
    "serving",
    ("steps", "first_token_at"),
    ("decode", "other", "queue", "prefill"),
    ("gpu_fault", "noisy_neighbour", "slow_start"),
    "Look at garbage collection, the event loop and /metrics scrape durations at the silent moments.",
    "Freeze the heap after start, move blocking work off the loop, restart to clear a grown heap.",
    weigh,
)

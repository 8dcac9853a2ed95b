"""Says whether GPUs run at lower clocks for power or heat; never a GPU that is broken (see gpu_fault)."""

from __future__ import annotations

from analytics.rootcause.facts.hardware import peers, worst
from analytics.rootcause.facts.service import decode_pace, prefill_pace
from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, hint, judge, ramp, rose, told
from analytics.rootcause.scene import Scene


def weigh(scene: Scene) -> Finding:
    if not scene.gpus.has("throttled") and not scene.gpus.has("sm_clock_mhz"):
        return cannot_tell("throttle_reasons", "sm_clock_mhz")
    instance = _suspect(scene)
    segment = {"instance": instance} if instance is not None and _alone(scene, instance) else {}
    clock, throttled = scene.gpus.shift("sm_clock_mhz", instance), scene.gpus.shift("throttled", instance)
    pace, step = prefill_pace(scene, segment), decode_pace(scene, segment)
    heat = scene.gpus.shift("temperature_celsius", instance)
    others = peers(scene.gpus, "sm_clock_mhz", instance) if instance is not None and clock is not None else None
    slowed = max(
        ramp(clock.ratio, 0.97, 0.88) or 0.0 if clock else 0.0,
        ramp(throttled.rise, 0.1, 0.5) or 0.0 if throttled else 0.0,
    )
    clauses = [
        Clause("sm_clock_mhz", slowed, 2, told(clock or throttled, f"{instance} runs at lower clocks"), gate=True),
        Clause(
            "throttle_reasons",
            hint(ramp(throttled.rise, 0.05, 0.4)) if throttled else None,
            1,
            told(throttled, "share of time throttled"),
        ),
        Clause(
            "prefill_seconds", rose(pace, 1.05, 1.3), 1.5, told(pace, "prefill, bound by compute, slows with the clock")
        ),
        Clause("instance", ramp(scene.fit(segment), 0.3, 0.8), 2, gate=True),
        Clause("tpot_seconds", None if step is None or pace is None else ramp(pace.ratio - step.ratio, -0.3, 0.1), 0.5),
        Clause("temperature_celsius", hint(ramp(heat.rise, 0, 8)) if heat else None, 0.3, told(heat, "temperature")),
        Clause(
            "sm_clock_mhz",
            ramp(others.ratio, 0.9, 0.98) if others and segment else None,
            0.5,
            told(others, "clock of its peers"),
        ),
    ]
    return judge(segment, clauses)


def _suspect(scene: Scene) -> str | None:
    """Return the instance whose GPUs slowed most: by clock, then by throttling."""
    slow = worst(scene.gpus, "sm_clock_mhz", -1)
    if slow is not None and slow[1].ratio < 0.97:
        return slow[0]
    held = worst(scene.gpus, "throttled")
    return held[0] if held is not None else (slow[0] if slow else None)


def _alone(scene: Scene, instance: str) -> bool:
    """Say whether this instance slowed without most of its peers (a hot aisle slows all)."""
    clocks = scene.gpus.by_source("sm_clock_mhz")
    if len(clocks) < 2:
        return scene.fit({"instance": instance}) >= scene.fit({})
    slowed = sum(1 for shift in clocks.values() if shift.ratio < 0.95)
    return slowed <= max(len(clocks) // 2, 1)


CAUSE = Cause(
    "gpu_throttle",
    "GPUs are throttled by power or heat",
    "serving",
    ("sm_clock_mhz", "throttle_reasons"),
    ("prefill", "queue", "decode", "other"),
    ("gpu_fault",),
    "Read the throttle reasons, power cap and inlet temperature of the named GPUs.",
    "Restore the power limit or cooling; until then give the instance less traffic.",
    weigh,
)

"""Says whether other work on the host takes the CPU that engines need to feed their GPUs; never the engine's own."""

from __future__ import annotations

from analytics.rootcause.facts.hardware import hosts_of
from analytics.rootcause.facts.service import decode_pace
from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, hint, judge, ramp, rose, told
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift


def weigh(scene: Scene) -> Finding:
    if not scene.hosts.sources:
        return cannot_tell("cpu_pressure_ratio", "cpu_ratio")
    host, signal, shift = _loudest(scene)
    if host is None or shift is None:
        return cannot_tell("cpu_pressure_ratio", "cpu_ratio")
    victims = [name for name, place in hosts_of(scene).items() if place == host]
    segment = _segment(scene, victims, host)
    step, busy = decode_pace(scene, segment), scene.gpus.shift("sm_active_ratio", segment.get("instance"))
    own = scene.hosts.shift("engine_cpu_ratio", host)
    told_where = bool(victims) and bool(scene.requests.levels("instance"))
    recall = sum(scene.recall({"instance": name}) for name in victims) if told_where else 1.0
    clauses = [
        Clause(signal, ramp(shift.rise, 0.06, 0.25), 2, told(shift, f"CPU contention on {host}"), gate=True),
        Clause("instance", ramp(recall, 0.2, 0.6), 2, gate=True),
        Clause("tpot_seconds", rose(step, 1.05, 1.4), 1.5, told(step, "each step takes longer")),
        Clause(
            "sm_active_ratio",
            hint(ramp(busy.ratio, 1.1, 0.9)) if busy else None,
            0.5,
            told(busy, "GPUs wait for the CPU"),
        ),
        Clause(
            "engine_cpu_ratio",
            ramp(own.ratio, 1.6, 1.1) if own and own.before else None,
            0.7,
            told(own, "CPU of the engine itself"),
        ),
        Clause("instance", scene.fit(segment), 1),
    ]
    return judge(segment, clauses)


def _loudest(scene: Scene) -> tuple[str | None, str, Shift | None]:
    """Return the host whose CPU pressure (else CPU use) rose most."""
    best: tuple[str | None, str, Shift | None] = (None, "cpu_pressure_ratio", None)
    for signal in ("cpu_pressure_ratio", "cpu_ratio"):
        for host, shift in scene.hosts.by_source(signal).items():
            if best[2] is None or shift.rise > best[2].rise:
                best = (host, signal, shift)
    return best


def _segment(scene: Scene, victims: list[str], host: str) -> dict[str, str]:
    known = [name for name in victims if name in scene.requests.levels("instance")]
    if not known:
        return {"instance": host} if host in scene.requests.levels("instance") else scene.along("instance") or {}
    best = max(known, key=lambda name: scene.fit({"instance": name}))
    return {"instance": best} if scene.fit({"instance": best}) >= 0.5 * scene.fit({}) or len(known) == 1 else {}


CAUSE = Cause(
    "noisy_neighbour",
    "Other work on the host takes the CPU from the engine",
    "serving",
    ("cpu_pressure_ratio",),
    ("decode", "prefill", "queue", "other"),
    ("gpu_fault", "grammar_cpu"),
    "List the CPU consumers of the named host; look at PSI and at the engine's cgroup.",
    "Reserve and pin CPUs for the engine, move the neighbour away.",
    weigh,
)

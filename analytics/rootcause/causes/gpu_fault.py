"""Says whether a GPU is failing: XID or ECC events, remapped rows, lost or hung, or power unlike its peers."""

from __future__ import annotations

from analytics.rootcause.facts.hardware import faults, peers, worst
from analytics.rootcause.facts.service import prefill_pace
from analytics.rootcause.form import Cause, Clause, Evidence, Finding, cannot_tell, judge, ramp, rose, told
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift


def weigh(scene: Scene) -> Finding:
    events = faults(scene)
    seen = scene.gpus
    if not events and not (seen.has("unwell") or seen.has("ecc_uncorrected") or seen.has("power_watts")):
        return cannot_tell("gpu_events", "state", "ecc_uncorrected")
    instance, signs = _suspect(scene, events)
    if instance is None:
        return judge(
            {}, [Clause("gpu_events", 0.0, 1, Evidence("gpu_events", 0, 0, "no fault was reported"), gate=True)]
        )
    segment = {"instance": instance} if instance in scene.requests.levels("instance") else {}
    pace = prefill_pace(scene, segment)
    lost = scene.requests.shares("instance").get(instance)
    gone = 0.0 if lost is None or lost[0] <= 0 else ramp(lost[1] / lost[0], 0.8, 0.3) or 0.0
    hurt = max(gone, ramp(scene.fit(segment), 0.3, 0.8) or 0.0)
    clauses = [
        Clause("gpu_events", max(holds for holds, _ in signs), 2, signs[0][1], gate=True),
        *(Clause("gpu_samples", holds, 0.5, evidence) for holds, evidence in signs[1:]),
        Clause(
            "instance", hurt, 2, Evidence("instance", None, instance, "the excess sits on it, or it is gone"), gate=True
        ),
        Clause("prefill_seconds", max(rose(pace, 1.05, 1.4) or 0.0, gone), 1, told(pace, "its work takes longer")),
    ]
    return judge(segment, clauses)


def _suspect(scene: Scene, events: dict[str, list[str]]) -> tuple[str | None, list[tuple[float, Evidence]]]:
    """Return the instance with signs of a fault, the strongest sign first."""
    signs: dict[str, list[tuple[float, Evidence]]] = {}
    for name, texts in events.items():
        grave = (
            1.0 if any(("xid" in text.lower()) or "lost" in text or "ecc" in text.lower() for text in texts) else 0.6
        )
        signs.setdefault(name, []).append(
            (grave, Evidence("gpu_events", 0, float(len(texts)), ", ".join(sorted(set(texts)))))
        )
    for signal, why, scale in (
        ("unwell", "GPU lost or hung", 0.05),
        ("ecc_uncorrected", "uncorrected ECC errors", 1.0),
        ("remapped_rows", "memory rows remapped", 1.0),
    ):
        found = worst(scene.gpus, signal)
        if found is not None and found[1].rise > 0:
            signs.setdefault(found[0], []).append(
                (ramp(found[1].rise, 0, scale) or 0.0, Evidence(signal, found[1].before, found[1].peak, why))
            )
    weak = _weak_power(scene)
    if weak is not None and not signs:
        signs[weak[0]] = [(0.7, told(weak[1], "draws less power than its peers at the same load") or _none())]
    if not signs:
        return None, []
    name = max(signs, key=lambda key: (max(h for h, _ in signs[key]) + scene.fit({"instance": key}), key))
    return name, sorted(signs[name], key=lambda sign: -sign[0])


def _weak_power(scene: Scene) -> tuple[str, Shift] | None:
    """Return the instance whose power fell apart from its peers while clocks look normal, and its shift."""
    found = worst(scene.gpus, "power_watts", -1)
    if found is None:
        return None
    others, clock = peers(scene.gpus, "power_watts", found[0]), scene.gpus.shift("sm_clock_mhz", found[0])
    share = scene.requests.shares("instance").get(found[0])
    idle = share is not None and share[1] < 0.6 * share[0]
    if others is None or idle or (clock is not None and clock.ratio < 0.95):
        return None
    return found if found[1].ratio < 0.88 * others.ratio and scene.fit({"instance": found[0]}) > 0.6 else None


def _none() -> Evidence:
    return Evidence("power_watts", None, None, "")


CAUSE = Cause(
    "gpu_fault",
    "A GPU is failing",
    "serving",
    ("gpu_events", "state", "ecc_uncorrected"),
    ("prefill", "queue", "decode", "other", "transfer"),
    (),
    "Read the XID, ECC and remapped-row log of the named GPU; repeat the load on another GPU.",
    "Drain the instance, reset or replace the GPU.",
    weigh,
)

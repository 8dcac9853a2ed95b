"""Says whether LoRA adapters are swapped in and out because more are asked for than fit; never slow base requests."""

from __future__ import annotations

from analytics.rootcause.facts.extra import steepest
from analytics.rootcause.form import Cause, Clause, Evidence, Finding, cannot_tell, judge, peaked, ramp, rose, told
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift


def weigh(scene: Scene) -> Finding:
    shares = scene.requests.shares("adapter")
    waiting = scene.engine.total("adapters_waiting")
    loads = steepest(scene, ("adapter", "lora"), ("slots", "max", "running"))
    if not shares and waiting is None and loads is None:
        return cannot_tell("adapter", "adapters_waiting")
    active = Shift(
        "distinct_adapters",
        float(sum(1 for before, _ in shares.values() if before > 0)),
        float(sum(1 for _, during in shares.values() if during > 0)),
    )
    segment, recall = _where(scene, list(shares))
    traffic = sum(during for _, during in shares.values())
    swapping = max(
        ramp(waiting.rise, 0.2, 2.0) or 0.0 if waiting else 0.0,
        rose(loads, 1.3, 2.5) or 0.0,
        ramp(recall - traffic, 0.05, 0.3) or 0.0 if shares else 0.0,
    )
    clauses = [
        Clause(
            "adapters_waiting",
            swapping,
            2,
            peaked(waiting, "adapters wait for a slot") or told(loads, "adapter loads"),
            gate=True,
        ),
        Clause(
            "adapter",
            ramp(recall, 0.3, 0.7) if shares else None,
            2,
            Evidence(
                "adapter_excess_share", traffic, recall, "share of traffic with an adapter against share of the excess"
            ),
            gate=bool(shares),
        ),
        Clause(
            "adapter",
            ramp(active.ratio, 1.0, 1.3) if shares and active.before else None,
            0.7,
            told(active, "different adapters asked for"),
        ),
        Clause("adapters_waiting", ramp(waiting.rise, 0.2, 2.0) if waiting else None, 1),
    ]
    return judge(segment, clauses)


def _where(scene: Scene, adapters: list[str]) -> tuple[dict[str, str], float]:
    """Return the adapter that is slow (or {} for several), and the share of the excess that adapters hold."""
    if not adapters:
        return {}, 0.0
    recalls = {name: scene.recall({"adapter": name}) for name in adapters}
    worst = max(recalls, key=lambda name: recalls[name])
    held = min(sum(recalls.values()), 1.0)
    return ({"adapter": worst} if recalls[worst] > 0.6 * held else {}), held


CAUSE = Cause(
    "adapter_swap",
    "Adapters are swapped because more are asked for than fit",
    "capacity",
    ("adapter",),
    ("queue", "prefill", "other", "decode"),
    (),
    "Count distinct adapters per minute against the slots; see which adapters are cold.",
    "More slots, route each adapter to few instances, load ahead.",
    weigh,
)

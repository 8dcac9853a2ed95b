"""Says whether requests lose their time outside the engine's queue and prefill: gateway, router, tokenizer front."""

from __future__ import annotations

from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, hint, judge, ramp, rose, steady, told
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift


def weigh(scene: Scene) -> Finding:
    spent = scene.requests.quotient("gateway_seconds", "gateway_sum", "gateway_known")
    outside = _outside(scene)
    if spent is None and outside is None:
        return cannot_tell("gateway_seconds")
    engine = scene.requests.quotient("queue_and_prefill_seconds", "engine_sum", "engine_known")
    retried = scene.requests.quotient("retried_ratio", "retried", "requests")
    segment = scene.along("tenant", "region", "length_bucket", "domain") or {}
    before_engine = rose(spent, 1.3, 2.0) or 0.0
    # Time that neither the gateway nor the engine's own stages account for passes in front of the scheduler.
    unaccounted = 0.8 * (rose(outside, 1.5, 3.0) or 0.0)
    shown = spent if before_engine >= unaccounted else outside
    clauses = [
        Clause(
            "gateway_seconds",
            max(before_engine, unaccounted),
            1,
            told(shown, "time outside the engine's queue and prefill"),
            gate=True,
        ),
        Clause("stage", ramp(scene.stage_share("gateway", "other"), 0.05, 0.5), 3, gate=True),
        Clause("gateway_seconds", max(before_engine, unaccounted), 2),
        Clause("engine_ttft_seconds", steady(engine, 1.2, 2.0), 1, told(engine, "the engines' own part")),
        Clause("attempts", hint(ramp(retried.rise, 0, 0.1)) if retried else None, 0.2, told(retried, "retries")),
    ]
    return judge(segment, clauses)


def requests_known(scene: Scene, phase: str) -> tuple[float, float]:
    """Return how many requests tell their queue and their prefill: with one of them only, the other is no overhead."""
    return scene.requests.sum(phase, "queue_known"), scene.requests.sum(phase, "prefill_known")


def _outside(scene: Scene) -> Shift | None:
    """Return seconds to the first token that no recorded stage accounts for, per request with stages."""
    found = []
    for phase in ("before", "during"):
        known = scene.requests.sum(phase, "staged")
        if known <= 0 or min(requests_known(scene, phase)) < 0.8 * known:
            return None
        parts = ("queue_sum", "prefill_sum", "transfer_sum", "staged_gateway_sum")
        told_by = sum(scene.requests.sum(phase, name) for name in parts)
        found.append(max(scene.requests.sum(phase, "staged_ttft_sum") - told_by, 0.0) / known)
    return Shift("unaccounted_seconds", found[0], found[1])


CAUSE = Cause(
    "gateway_overhead",
    "The time passes before an engine works on the request",
    "serving",
    ("gateway_seconds",),
    ("gateway", "other"),
    ("measurement_artefact", "region_loss", "engine_pause"),
    "Look at the gateway's CPU, its event loop, tokenizing and prompt bytes; compare its TTFT with the engines'.",
    "More gateway or tokenizer workers; stream bodies; take logging off the loop.",
    weigh,
)

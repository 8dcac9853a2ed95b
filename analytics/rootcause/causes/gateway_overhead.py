"""Says whether requests lose their time before an engine has them; never time inside the engine."""

from __future__ import annotations

from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, hint, judge, ramp, rose, steady, told
from analytics.rootcause.scene import Scene


def weigh(scene: Scene) -> Finding:
    spent = scene.requests.quotient("gateway_seconds", "gateway_sum", "gateway_known")
    if spent is None:
        return cannot_tell("gateway_seconds")
    engine = scene.requests.quotient("queue_and_prefill_seconds", "engine_sum", "engine_known")
    retried = scene.requests.quotient("retried_ratio", "retried", "requests")
    segment = scene.along("tenant", "region", "length_bucket", "domain") or {}
    clauses = [
        Clause(
            "gateway_seconds", rose(spent, 1.3, 2.0), 1, told(spent, "time before an engine has the request"), gate=True
        ),
        Clause("stage", ramp(scene.stage_share("gateway"), 0.2, 0.6), 3, gate=True),
        Clause("engine_ttft_seconds", steady(engine, 1.2, 2.0), 1, told(engine, "the engines' own part")),
        Clause(
            "attempts", hint(ramp(retried.rise, 0, 0.1)) if retried else None, 0.2, told(retried, "requests retried")
        ),
    ]
    return judge(segment, clauses)


CAUSE = Cause(
    "gateway_overhead",
    "The gateway spends the time before an engine has the request",
    "serving",
    ("gateway_seconds",),
    ("gateway",),
    ("measurement_artefact", "region_loss"),
    "Look at the gateway's CPU, its event loop and prompt bytes; compare its TTFT with the engines'.",
    "More gateway workers; stream bodies; take tokenising and logging off its loop.",
    weigh,
)

"""Says whether building token masks for structured output holds up the engine; never plain requests' own slowness."""

from __future__ import annotations

from analytics.rootcause.facts.extra import steepest
from analytics.rootcause.facts.service import decode_pace
from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, hint, judge, ramp, rose, told
from analytics.rootcause.scene import Scene


def weigh(scene: Scene) -> Finding:
    shares = scene.requests.shares("structured")
    per_step = scene.engine.quotient("grammar_seconds_per_step", "grammar_seconds", "steps")
    other = steepest(scene, ("grammar",), ("cache_hit", "hits"))
    if not shares and per_step is None and other is None:
        return cannot_tell("structured", "grammar_seconds")
    segment = {"structured": "true"}
    before, during = shares.get("true", (0.0, 0.0))
    mask = per_step or other
    pace = decode_pace(scene, segment) if during > 0 else None
    plain = decode_pace(scene, {"structured": "false"}) if shares.get("false", (0.0, 0.0))[1] > 0 else None
    own = scene.fit(segment) if during > 0 else 0.0
    part = scene.engine.quotient("grammar_part", "grammar_seconds", "step_seconds")
    clauses = [
        # More constrained answers in a larger batch cost more too; a twentieth of a step is no hold-up.
        Clause("step_seconds", 1.0 if part is None else ramp(part.during, 0.02, 0.1), gate=True),
        Clause(
            "grammar_seconds", _evident(rose(mask, 1.3, 2.5), own), 3, told(mask, "seconds spent on masks"), gate=True
        ),
        # Masks that hold up the whole step make plain requests as slow as constrained ones.
        Clause("structured", ramp(own, 0.4, 0.9) if mask is None else hint(ramp(own, 0.4, 0.9)), 1),
        Clause("structured", rose(pace, 1.05, 1.5), 1, told(pace, "structured requests take longer per token")),
        Clause(
            "structured",
            None if pace is None or plain is None else ramp(pace.ratio - plain.ratio, -0.1, 0.2),
            1,
            told(plain, "plain requests"),
        ),
        Clause("structured", ramp(during, 0.01, 0.1) if shares else None, 0.5),
        Clause("structured", hint(ramp(during - before, 0.0, 0.1)) if shares else None, 0.3),
    ]
    narrow = (
        {"structured": "true"}
        if own >= 0.9 and shares
        else scene.along("structured", "model_version", "instance") or {}
    )
    return judge(narrow, clauses)


def _evident(masks: float | None, own: float) -> float:
    """Mask time decides where it is exported; without it the excess must sit on structured requests."""
    if masks is not None:
        return masks
    return ramp(own, 0.7, 1.0) or 0.0


CAUSE = Cause(
    "grammar_cpu",
    "Masks for structured output take longer than a step",
    "serving",
    ("structured", "grammar_seconds"),
    ("decode", "queue", "other", "prefill"),
    (),
    "Compare mask seconds per step with step seconds; list the largest schemas and their compile times.",
    "Precompile and cache grammars, compute masks in parallel, bound the schema size.",
    weigh,
)

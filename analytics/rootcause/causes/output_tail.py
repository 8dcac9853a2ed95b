"""Says whether longer outputs hold seats and memory longer than before; never slower tokens."""

from __future__ import annotations

from analytics.rootcause.facts.demand import output_length, output_weight
from analytics.rootcause.facts.service import decode_pace
from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, judge, rose, steady, told
from analytics.rootcause.scene import Scene


def weigh(scene: Scene) -> Finding:
    mean, weighted = output_length(scene), output_weight(scene)
    if mean is None or weighted is None:
        mean = weighted = scene.engine.quotient("output_tokens_per_request", "generation_tokens", "finished")
    if mean is None or weighted is None:
        return cannot_tell("output_tokens")
    pace, segment = decode_pace(scene), _who(scene)
    held = scene.engine.shift("running")
    clauses = [
        Clause(
            "output_tokens",
            max(rose(mean, 1.15, 1.5) or 0.0, rose(weighted, 1.3, 2.0) or 0.0),
            2,
            told(mean, "output tokens per request"),
            gate=True,
        ),
        Clause("output_tokens", rose(weighted, 1.2, 1.8), 1, told(weighted, "token-weighted output length: the tail")),
        Clause("tpot_seconds", steady(pace, 1.5, 2.5), 0.7, told(pace, "a token costs what it did")),
        Clause("running", rose(held, 1.05, 1.3), 0.7, told(held, "more requests hold a seat")),
        Clause("stage", scene.stage_share("queue", "decode", "other"), 1),
        Clause("requests", steady(scene.arrivals, 1.25, 2.0), 1.5, told(scene.arrivals, "not simply more requests")),
    ]
    return judge(segment, clauses)


def _who(scene: Scene) -> dict[str, str]:
    """Return the tenant or domain whose outputs grew most beyond the others', {} where all grew."""
    whole = output_length(scene)
    best: tuple[float, dict[str, str]] = (0.0, {})
    for dimension in ("tenant", "domain", "adapter"):
        for level, (_, share) in scene.requests.shares(dimension, "output_tokens").items():
            inside = output_length(scene, {dimension: level})
            if inside is None or whole is None or not 0.03 < share < 0.9:
                continue
            gain = share * (1 - 1 / max(inside.ratio, 1e-9))
            if gain > 0.6 * (1 - 1 / max(whole.ratio, 1.0001)) and gain > 1.1 * best[0]:
                best = (gain, {dimension: level})
    return best[1]


CAUSE = Cause(
    "output_tail",
    "Longer outputs hold seats and memory longer",
    "traffic",
    ("output_tokens",),
    ("queue", "decode", "other"),
    ("acceptance_drop", "preemption"),
    "See output tokens by tenant and domain; check stop conditions and repeated text.",
    "Bound output lengths, stop degenerate repetition, give long generations their own pool.",
    weigh,
)

"""Says whether longer prompts arrived and hold up the others; never prompts that merely lost their cached prefix."""

from __future__ import annotations

from analytics.rootcause.facts.demand import input_length, input_weight
from analytics.rootcause.facts.service import decode_pace, hit_ratio, prefill_pace, prefill_share
from analytics.rootcause.form import Cause, Clause, Evidence, Finding, cannot_tell, judge, ramp, rose, steady, told
from analytics.rootcause.scene import Scene

#: What is left of the cause where prompts take next to none of the time that seats are held.
LEAST_BURDEN = 0.4
#: Token-weighted prompt lengths from which on, and at which surely, prompts fill several steps of usual budgets.
MANY_STEPS_TOKENS = (4_000.0, 12_000.0)


def weigh(scene: Scene) -> Finding:
    mean, weighted = input_length(scene), input_weight(scene)
    if mean is None or weighted is None:
        return _from_pages(scene)
    longer = max(rose(mean, 1.1, 1.4) or 0.0, rose(weighted, 1.2, 1.8) or 0.0)
    bucket, share = _grown(scene)
    pace = prefill_pace(scene)
    clauses = [
        Clause("input_tokens", longer, 2, told(mean, "input tokens per request"), gate=True),
        Clause("input_tokens", rose(weighted, 1.1, 1.6), 1, told(weighted, "token-weighted prompt length")),
        Clause("length_bucket", ramp(share[1] if share else None, 0.02, 0.2), 1, _told_share(bucket, share)),
        Clause("stage", scene.stage_share("queue", "prefill", "other"), 1),
        Clause("prefill_seconds", _burden(scene), gate=True),
        Clause("cached_tokens", _kept(scene), 0.5),
        Clause("prefill_seconds", steady(pace, 1.5, 2.5), 0.5, told(pace, "engines compute a token as fast as before")),
        Clause("requests", steady(scene.arrivals, 1.3, 2.0), 1, told(scene.arrivals, "not simply more requests")),
    ]
    return judge({"length_bucket": bucket} if bucket else {}, clauses)


def _burden(scene: Scene) -> float:
    """Say how far prompts can hold seats: a queue forms behind them only if prefill fills part of the time served."""
    share, queued, length = prefill_share(scene), scene.stage_share("queue"), input_length(scene)
    if share is None or queued is None:
        return 1.0
    # Prompts that slow the decoding beside them hide in its time: tokens cost more, and prompts fill many steps.
    weighted = input_weight(scene)
    many_steps = 0.0 if weighted is None else ramp(weighted.during, *MANY_STEPS_TOKENS) or 0.0
    grown = min(rose(length, 1.6, 2.5) or 0.0, rose(decode_pace(scene), 1.3, 2.0) or 0.0, many_steps)
    return 1.0 - queued * (1.0 - max(LEAST_BURDEN, ramp(share, 0.04, 0.1) or 0.0, grown))


def _grown(scene: Scene) -> tuple[str | None, tuple[float, float] | None]:
    """Return the length bucket whose share of input tokens grew most, and that share."""
    shares = scene.requests.shares("length_bucket", "input_tokens")
    if not shares:
        return None, None
    name = max(shares, key=lambda level: shares[level][1] - shares[level][0])
    return name, shares[name]


def _told_share(bucket: str | None, share: tuple[float, float] | None) -> Evidence | None:
    if bucket is None or share is None:
        return None
    return Evidence("length_bucket_share", *share, f"share of input tokens from {bucket} prompts")


def _kept(scene: Scene) -> float | None:
    hits = hit_ratio(scene)
    return None if hits is None else ramp(hits.rise, -0.2, -0.05)


def _from_pages(scene: Scene) -> Finding:
    """Judge by tokens per first token where no request tells its length."""
    length = scene.engine.quotient("prompt_tokens_per_request", "prompt_tokens", "first_tokens")
    if length is None:
        return cannot_tell("input_tokens", "prompt_tokens")
    clauses = [
        Clause("prompt_tokens", rose(length, 1.2, 2.0), 2, told(length, "prompt tokens per first token"), gate=True),
        Clause("stage", scene.stage_share("queue", "prefill"), 1),
        Clause("prefill_seconds", _burden(scene), gate=True),
        Clause("requests", steady(scene.arrivals, 1.3, 2.0), 1, told(scene.arrivals, "not simply more requests")),
    ]
    return judge({}, clauses)


CAUSE = Cause(
    "long_requests",
    "Longer prompts arrived and hold up the others",
    "traffic",
    ("input_tokens",),
    ("queue", "prefill", "other", "transfer"),
    ("preemption",),
    "See TTFT and queue by length bucket; find the tenant that sends the long prompts.",
    "Give long prompts their own pool or a cap on concurrent long prefills; chunk prefill smaller.",
    weigh,
)

"""How fast the engines worked per unit of work, before and during; free of how much work there was."""

from __future__ import annotations

from collections.abc import Mapping

from analytics.rootcause.requests import Mask
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift


def prefill_pace(scene: Scene, segment: Mapping[str, str] | None = None) -> Shift | None:
    """Return prefill seconds per computed input token at today's mix of lengths, from requests, else from pages."""
    found = scene.requests.adjusted(
        "prefill_seconds_per_token", "prefill_sum", "prefill_tokens", "length_bucket", _mask(scene, segment)
    )
    if found is not None and found.before > 0:
        return found
    source = (segment or {}).get("instance")
    return scene.engine.quotient("prefill_seconds_per_request", "prefill_seconds_sum", "finished", source)


def prefill_share(scene: Scene) -> float | None:
    """Return which share of the time that requests hold seats is prefill, during; from requests, else from pages."""
    prefill, decode = (scene.requests.sum("during", name) for name in ("prefill_sum", "decode_sum"))
    if prefill > 0 and decode > 0:
        return prefill / (prefill + decode)
    held = scene.engine.quotient("prefill_share", "prefill_seconds_sum", "running_area")
    return None if held is None else held.during


def typical_pace(scene: Scene, segment: Mapping[str, str] | None = None) -> Shift | None:
    """Return prefill seconds per computed token of the requests that were not slow, else of all.

    An engine that computes slowly does so for every request; one that stood still, or admitted in gusts, spares most.
    """
    mask = _mask(scene, segment)
    good, known = (scene.requests.sum("during", name, mask) for name in ("good_prefill_known", "prefill_known"))
    if good >= max(0.25 * known, 30.0):
        found = scene.requests.adjusted(
            "typical_prefill_seconds_per_token", "good_prefill_sum", "good_prefill_tokens", "length_bucket", mask
        )
        if found is not None and found.before > 0:
            return found
    return prefill_pace(scene, segment)


def prefill_time(scene: Scene, segment: Mapping[str, str] | None = None) -> Shift | None:
    """Return prefill seconds per request at today's mix of lengths."""
    return scene.requests.adjusted(
        "prefill_seconds", "prefill_sum", "prefill_known", "length_bucket", _mask(scene, segment)
    )


def decode_pace(scene: Scene, segment: Mapping[str, str] | None = None) -> Shift | None:
    """Return decode seconds per output token, from requests, else seconds per engine step, else seat time per token."""
    found = scene.requests.quotient("tpot_seconds", "decode_sum", "decode_tokens", _mask(scene, segment))
    if found is not None and found.before > 0:
        return found
    source = (segment or {}).get("instance")
    step = scene.engine.quotient("step_seconds_per_step", "step_seconds", "steps", source)
    return step or scene.engine.quotient("seat_seconds_per_token", "running_area", "generation_tokens", source)


def decode_unevenness(scene: Scene, segment: Mapping[str, str] | None = None) -> Shift | None:
    """Return mean square ÷ squared mean of the requests' seconds per output token: 1 = all alike.

    Slower steps make every request slower; standing still hits those that were decoding just then.
    """
    mask = _mask(scene, segment)
    mean = scene.requests.quotient("pace", "pace_sum", "pace_known", mask)
    square = scene.requests.quotient("pace_squares", "pace_squares", "pace_known", mask)
    if mean is None or square is None or mean.before <= 0 or mean.during <= 0:
        return None
    return Shift("tpot_unevenness", square.before / mean.before**2, square.during / mean.during**2)


def hit_ratio(scene: Scene, segment: Mapping[str, str] | None = None) -> Shift | None:
    """Return the share of input tokens that came from a prefix cache, from requests, else from pages."""
    found = scene.requests.quotient("cached_ratio", "cached_tokens", "cached_of", _mask(scene, segment))
    if found is not None:
        return found
    return scene.engine.quotient(
        "prefix_hit_ratio", "prefix_hit_tokens", "prefix_query_tokens", (segment or {}).get("instance")
    )


def acceptance(scene: Scene, segment: Mapping[str, str] | None = None) -> Shift | None:
    """Return how likely one drafted token is accepted after those before it, from requests, else from pages.

    Accepted ÷ drafted falls with the number of drafts k alone, as a draft counts only when all before it did:
    accepted per step = a (1 - a^k) / (1 - a). Where k is known, a is solved for; else k is taken as unchanged.
    """
    found = scene.requests.quotient("spec_acceptance_ratio", "accepted_tokens", "draft_tokens", _mask(scene, segment))
    if found is None:
        found = scene.engine.quotient(
            "spec_acceptance_ratio", "spec_accepted_tokens", "spec_draft_tokens", (segment or {}).get("instance")
        )
    drafts = scene.engine.quotient("drafts", "spec_draft_tokens", "spec_drafts") or _drafts_of_requests(scene)
    if found is None or drafts is None:
        return found
    return Shift(
        "spec_acceptance_per_position",
        _per_position(found.before, drafts.before),
        _per_position(found.during, drafts.during),
    )


def _drafts_of_requests(scene: Scene) -> Shift | None:
    """Return drafts per step as answers tell them: a step gives the accepted drafts and one token more."""
    found = []
    for phase in ("before", "during"):
        drafted, accepted, made = (
            scene.requests.sum(phase, name) for name in ("draft_tokens", "accepted_tokens", "output_tokens")
        )
        if drafted <= 0 or made - accepted < 0.01 * made:
            return None
        found.append(drafted / (made - accepted))
    # Where only some of the answers were drafted for, this is no number of drafts.
    return Shift("drafts", found[0], found[1]) if min(found) >= 1.0 else None


def _per_position(ratio: float, drafts: float) -> float:
    """Solve (a + a² + … + a^k) / k = ratio for a by bisection; k may be a mean and not whole."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        share = middle * (1 - middle**drafts) / max(1 - middle, 1e-9) / max(drafts, 1e-9)
        low, high = (middle, high) if share < ratio else (low, middle)
    return (low + high) / 2


def _mask(scene: Scene, segment: Mapping[str, str] | None) -> Mask | None:
    return None if not segment else scene.requests.inside(segment)

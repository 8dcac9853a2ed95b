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


def prefill_time(scene: Scene, segment: Mapping[str, str] | None = None) -> Shift | None:
    """Return prefill seconds per request at today's mix of lengths."""
    return scene.requests.adjusted(
        "prefill_seconds", "prefill_sum", "prefill_known", "length_bucket", _mask(scene, segment)
    )


def decode_pace(scene: Scene, segment: Mapping[str, str] | None = None) -> Shift | None:
    """Return decode seconds per output token, from requests, else seconds per engine step."""
    found = scene.requests.quotient("tpot_seconds", "decode_sum", "decode_tokens", _mask(scene, segment))
    if found is not None and found.before > 0:
        return found
    return scene.engine.quotient("step_seconds_per_step", "step_seconds", "steps", (segment or {}).get("instance"))


def hit_ratio(scene: Scene, segment: Mapping[str, str] | None = None) -> Shift | None:
    """Return the share of input tokens that came from a prefix cache, from requests, else from pages."""
    found = scene.requests.quotient("cached_ratio", "cached_tokens", "cached_of", _mask(scene, segment))
    if found is not None:
        return found
    return scene.engine.quotient(
        "prefix_hit_ratio", "prefix_hit_tokens", "prefix_query_tokens", (segment or {}).get("instance")
    )


def acceptance(scene: Scene, segment: Mapping[str, str] | None = None) -> Shift | None:
    """Return accepted ÷ drafted tokens, from requests, else from pages."""
    found = scene.requests.quotient("spec_acceptance_ratio", "accepted_tokens", "draft_tokens", _mask(scene, segment))
    if found is not None:
        return found
    return scene.engine.quotient(
        "spec_acceptance_ratio", "spec_accepted_tokens", "spec_draft_tokens", (segment or {}).get("instance")
    )


def _mask(scene: Scene, segment: Mapping[str, str] | None) -> Mask | None:
    return None if not segment else scene.requests.inside(segment)

"""What was asked of the engines before and during: arrivals, lengths, who brought them; never how it was served."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np

from analytics.rootcause.leaves import FloatArray
from analytics.rootcause.requests import Mask
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift

#: Steps of calm history from which on stretches of it are compared with the window.
SHORTEST_HISTORY = 12


def input_length(scene: Scene, segment: Mapping[str, str] | None = None) -> Shift | None:
    """Return mean input tokens per request."""
    return scene.requests.quotient("input_tokens_per_request", "input_tokens", "sized", _mask(scene, segment))


def input_weight(scene: Scene) -> Shift | None:
    """Return the token-weighted mean prompt length Σx²/Σx, which a few very long prompts move."""
    return scene.requests.quotient("input_tokens_weighted", "input_squares", "input_tokens")


def output_length(scene: Scene, segment: Mapping[str, str] | None = None) -> Shift | None:
    """Return mean output tokens per request."""
    return scene.requests.quotient("output_tokens_per_request", "output_tokens", "output_known", _mask(scene, segment))


def output_weight(scene: Scene) -> Shift | None:
    """Return the token-weighted mean output length, which a long tail moves most."""
    return scene.requests.quotient("output_tokens_weighted", "output_squares", "output_tokens")


def token_demand(scene: Scene) -> Shift | None:
    """Return input tokens per second to be computed, cached ones taken off where known."""
    return scene.requests.rate("computed_tokens")


def brought_by(scene: Scene) -> dict[str, str]:
    """Return the tenant, adapter, domain or region that brought most of the additional requests; {} = all did."""
    whole = scene.arrivals
    for found in scene.growth_segments:
        if not found.segment:
            return {}
        if set(found.segment) <= {"tenant", "domain", "adapter", "region"} and len(found.segment) == 1:
            inside = scene.requests.rate("requests", scene.requests.inside(found.segment))
            if inside is not None and whole is not None and inside.ratio > 1.5 * whole.ratio and found.recall > 0.6:
                return dict(found.segment)
    return {}


def unusual(scene: Scene) -> Shift | None:
    """Compare the busiest stretch of the window with one that calm history has in one of ten, in requests per second.

    Traffic that comes in waves is often a third above its mean, and served all the same. None where history is too
    short to have stretches.
    """
    before, during = scene.observations.arrivals_before, scene.observations.arrivals_during
    if before is None or during is None or len(before) < SHORTEST_HISTORY or not len(during):
        return None
    width = max(min(len(during), len(before) // 6), 1)
    usual, now = _stretches(before, width), _stretches(during, width)
    seconds = float(scene.observations.step_seconds)
    return Shift("busy_requests_per_second", float(np.quantile(usual, 0.9)) / seconds, float(now.max()) / seconds)


def _stretches(counts: FloatArray, width: int) -> FloatArray:
    return np.convolve(counts, np.full(width, 1.0 / width), "valid").astype(np.float64)


def surprise(shift: Shift | None, seconds: float) -> float | None:
    """Return the Poisson z of a rate's rise over `seconds`, the floor under calling a few more requests a spike."""
    if shift is None:
        return None
    return (shift.during - shift.before) * seconds / sqrt(max(shift.before * seconds, 1.0))


def _mask(scene: Scene, segment: Mapping[str, str] | None) -> Mask | None:
    return None if not segment else scene.requests.inside(segment)

"""Splits a change of accepted drafts: number of drafts, then position by position, then who asks; names no cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analytics.rootcause.leaves import FloatArray
from analytics.rootcause.scene import Scene

#: Dimensions that acceptance is split by, in the order of asking.
BY = ("domain", "model_version", "temperature", "cached", "tenant", "instance")
#: Drafting steps below which a position says nothing.
SMALLEST = 30.0


@dataclass(frozen=True, slots=True)
class Position:
    """Position `number` (1 = first draft): chance of acceptance given those before, and its tokens per step."""

    number: int
    before: float
    during: float
    effect: float


@dataclass(frozen=True, slots=True)
class Drafting:
    """Accepted tokens per step: `during - before` = `drafts_effect` + the positions' effects, exactly."""

    before: float
    during: float
    drafts_before: float
    drafts_during: float
    drafts_effect: float
    positions: tuple[Position, ...]

    @property
    def because(self) -> str:
        """Say in words what moved accepted tokens per step."""
        return {
            "drafts": f"{self.drafts_before:.3g} drafts a step became {self.drafts_during:.3g}: that alone moves it",
            "nowhere": "no position is accepted otherwise than before",
            "all positions": "every position moved alike: draft and target model agree otherwise than before",
            "first positions": "the first drafts moved most: what is asked, or how it is sampled, changed",
            "late positions": "only late drafts moved: they depend on length and drift",
        }[self.pattern]

    @property
    def pattern(self) -> str:
        """Say where acceptance moved: `drafts`, `all positions`, `first positions`, `late positions` or `nowhere`."""
        effects = [position.effect for position in self.positions]
        within = sum(effects)
        if abs(self.drafts_effect) > abs(within):
            return "drafts"
        moved = [p.during / p.before - 1 for p in self.positions if p.before > 0]
        if not moved or max(map(abs, moved)) < 0.03:
            return "nowhere"
        largest = max(moved, key=abs)
        alike = [value / largest > 0.4 for value in moved]
        if all(alike):
            return "all positions"
        return "first positions" if alike[0] else "late positions"

    def as_json(self) -> dict[str, object]:
        return {
            "accepted_per_step": [round(self.before, 5), round(self.during, 5)],
            "drafts_per_step": [round(self.drafts_before, 4), round(self.drafts_during, 4)],
            "drafts_effect": round(self.drafts_effect, 5),
            "pattern": self.pattern,
            "because": self.because,
            "positions": [
                {
                    "position": position.number,
                    "before": round(position.before, 5),
                    "during": round(position.during, 5),
                    "effect": round(position.effect, 5),
                }
                for position in self.positions
            ],
        }


@dataclass(frozen=True, slots=True)
class Split:
    """Change of accepted ÷ drafted by one dimension: `mix` = other levels draft now, `within` = levels changed."""

    dimension: str
    mix: float
    within: float
    levels: Mapping[str, tuple[float, float]]

    def as_json(self) -> dict[str, object]:
        levels = {name: [round(value, 5) for value in pair] for name, pair in self.levels.items()}
        return {
            "dimension": self.dimension, "mix": round(self.mix, 5), "within": round(self.within, 5), "levels": levels
        }  # fmt: skip


def drafting(
    steps: tuple[float, float], drafted: tuple[float, float], accepted: tuple[FloatArray, FloatArray]
) -> Drafting | None:
    """Split accepted tokens per step from (before, during): drafting steps, drafted tokens, accepted by position.

    With a_j = accepted at j ÷ accepted at j - 1 (steps at 0), tokens per step are Σ_j Π_{i<=j} a_i. The drafts' effect
    recomputes the old a at the new number of drafts (positions that were not drafted before take the last known a);
    what is left telescopes: Π_{i<j} old · (new_j - old_j) · (1 + what follows at the new a).
    """
    if min(steps) < SMALLEST:
        return None
    old, new = (_chances(count, found) for count, found in zip(steps, accepted, strict=True))
    if not len(old) or not len(new):
        return None
    at_new = old[: len(new)] if len(old) >= len(new) else np.append(old, np.full(len(new) - len(old), old[-1]))
    effects = []
    for place in range(len(new)):
        tail = 1.0 + float(np.cumprod(new[place + 1 :]).sum())
        effects.append(float(np.prod(at_new[:place])) * float(new[place] - at_new[place]) * tail)
    positions = tuple(
        Position(place + 1, float(at_new[place]), float(new[place]), effect) for place, effect in enumerate(effects)
    )
    return Drafting(
        before=_length(old),
        during=_length(new),
        drafts_before=drafted[0] / steps[0],
        drafts_during=drafted[1] / steps[1],
        drafts_effect=_length(at_new) - _length(old),
        positions=positions,
    )


def drafting_of(scene: Scene) -> Drafting | None:
    """Return the split from what engines counted by position; None where no engine tells positions."""
    rows = scene.observations.positions
    if not rows or not len(rows["step"]):
        return None
    steps, tokens, taken = [], [], []
    for chosen in (scene.observations.before_steps, scene.observations.during_steps):
        inside = np.isin(rows["step"].astype(np.int64), chosen)
        place = rows["position"].astype(np.int64)[inside]
        count = rows["accepted"].astype(np.float64)[inside]
        first = place == 1
        steps.append(float(np.nansum(rows["drafts"].astype(np.float64)[inside][first])))
        tokens.append(float(np.nansum(rows["drafted"].astype(np.float64)[inside][first])))
        taken.append(np.bincount(place - 1, weights=np.nan_to_num(count)).astype(np.float64))
    return drafting((steps[0], steps[1]), (tokens[0], tokens[1]), (taken[0], taken[1]))


def splits_of(scene: Scene, dimensions: Sequence[str] = BY) -> list[Split]:
    """Return mix and within of accepted ÷ drafted by each dimension that has levels, from requests (else pages)."""
    found = []
    whole = scene.requests.quotient("acceptance", "accepted_tokens", "draft_tokens")
    if whole is None:
        return []
    for dimension in dimensions:
        if dimension not in scene.requests.coded:
            continue
        weights = scene.requests.shares(dimension, "draft_tokens")
        if not weights:
            continue
        mix = within = 0.0
        levels = {}
        for level, (old, new) in weights.items():
            inside = scene.requests.quotient(
                level, "accepted_tokens", "draft_tokens", scene.requests.inside({dimension: level})
            )
            if inside is None:  # a level that came or went has only one side
                continue
            mix += (new - old) * (inside.before - whole.before)
            within += new * (inside.during - inside.before)
            levels[level] = (inside.before, inside.during)
        found.append(Split(dimension, mix, within, levels))
    return found


def _chances(steps: float, accepted: FloatArray) -> FloatArray:
    """Return acceptance at each position given those before; ends at the first position that nothing reached."""
    kept = accepted[: int(np.argmax(np.append(accepted, 0.0) <= 0))]
    if not len(kept):
        return np.array([])
    chances: FloatArray = np.minimum(kept / np.append(steps, kept[:-1]), 1.0)
    return chances


def _length(chances: FloatArray) -> float:
    return float(np.cumprod(chances).sum())

"""Acceptance of draft tokens, made comparable across draft counts, and the cost of drafting; from sums by block."""

from __future__ import annotations

from math import exp, hypot

import numpy as np

from analytics.planners.acceptance import acceptance_from_length
from analytics.planners.form import Estimate, PlannerInputs
from analytics.planners.observed.intervals import line, ratio_of_sums
from analytics.planners.observed.measures import Measure
from analytics.planners.observed.telemetry import Telemetry, by_block, column, texts, total

__all__ = [
    "acceptance_by_domain",
    "acceptance_rate",
    "draft_cost",
    "draft_tokens",
    "group_effect",
    "group_tpot",
    "step_base",
    "step_slope",
]

_ENGINE = "plan_engine_blocks"


def draft_tokens(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure draft tokens per speculating step."""
    drafted, drafts = by_block(telemetry, _ENGINE, "spec_draft_tokens"), by_block(telemetry, _ENGINE, "spec_drafts")
    return ratio_of_sums(drafted, drafts, f"draft tokens of {total(drafts):,.0f} drafts")


def acceptance_rate(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
    """Measure acceptance per token: accepted tokens per draft, with the draft count taken out."""
    drafts = by_block(telemetry, _ENGINE, "spec_drafts")
    accepted = ratio_of_sums(by_block(telemetry, _ENGINE, "spec_accepted_tokens"), drafts, "")
    count = draft_tokens(telemetry, inputs)
    if accepted is None or count is None or isinstance(accepted.value, tuple) or isinstance(count.value, tuple):
        return None
    k = count.value
    value, low, high = (
        min(0.999, acceptance_from_length(min(max(0.0, each), k), k))
        for each in (accepted.value, accepted.low or 0.0, accepted.high or 0.0)
    )
    return Estimate(value, low, high, f"accepted tokens of {total(drafts):,.0f} drafts of {k:.3g}")


def acceptance_by_domain(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
    """Measure acceptance per token by kind of work, as read."""
    count = draft_tokens(telemetry, inputs)
    k = float(getattr(inputs, "draft_tokens", 1)) if count is None or isinstance(count.value, tuple) else count.value
    drafted, accepted = (column(telemetry, "plan_spec_domains", name) for name in ("drafted", "accepted"))
    names = texts(telemetry, "plan_spec_domains", "domain")
    pairs = tuple(
        (name, min(0.999, acceptance_from_length(float(took / made) * k, k)))
        for name, made, took in zip(names, drafted, accepted, strict=True)
        if name and made > 0
    )
    return Estimate(pairs, None, None, f"drafts of {len(pairs)} kinds of work") if pairs else None


def draft_cost(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
    """Measure the cost of one draft token in plain steps: draft seconds / (drafts per step x the rest of the step)."""
    count = draft_tokens(telemetry, inputs)
    drafting = by_block(telemetry, "plan_signal_blocks", "value", signal="spec_draft_seconds")
    stepping = by_block(telemetry, _ENGINE, "step_seconds")
    if count is None or isinstance(count.value, tuple):
        return None
    return ratio_of_sums(drafting, count.value * (stepping - drafting), "spec_draft_seconds beside step seconds")


def group_tpot(group: str) -> Measure:
    """Measure time per output token with speculation on or off, by the instance's group or the request's drafts."""

    def measure(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
        seconds = by_block(telemetry, "plan_spec_groups", "decode_seconds", kind=group)
        tokens = by_block(telemetry, "plan_spec_groups", "decode_tokens", kind=group)
        return ratio_of_sums(seconds, tokens, f"{total(tokens):,.0f} tokens with speculation {group}")

    return measure


def group_effect(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
    """Measure time per token of the control group over that with speculation; the interval is that of the logarithm."""
    on, off = group_tpot("on")(telemetry, inputs), group_tpot("off")(telemetry, inputs)
    if on is None or off is None or isinstance(on.value, tuple) or isinstance(off.value, tuple):
        return None
    if on.value <= 0 or off.value <= 0 or on.high is None or off.high is None:
        return None
    half = hypot((on.high - on.value) / on.value, (off.high - off.value) / off.value)
    ratio = off.value / on.value
    return Estimate(ratio, ratio * exp(-half), ratio * exp(half), f"{off.basis}; {on.basis}")


def step_base(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure a step's time without tokens: the intercept of step time over tokens in the step."""
    fitted = _step_line(telemetry)
    return None if fitted is None else fitted[0]


def step_slope(telemetry: Telemetry, _: PlannerInputs) -> Estimate | None:
    """Measure what each token adds to a step: the slope of step time over tokens in the step."""
    fitted = _step_line(telemetry)
    return None if fitted is None else fitted[1]


def _step_line(telemetry: Telemetry) -> tuple[Estimate, Estimate] | None:
    steps, tokens, seconds = (by_block(telemetry, _ENGINE, name) for name in ("steps", "step_tokens", "step_seconds"))
    seconds = seconds - np.nan_to_num(by_block(telemetry, "plan_signal_blocks", "value", signal="spec_draft_seconds"))
    with np.errstate(invalid="ignore", divide="ignore"):
        return line(tokens / steps, seconds / steps, steps, f"step time over tokens, {total(steps):,.0f} steps")

"""Decides how many instances a pool should have next, and why; pure: everything it may know is in the state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import nan
from typing import cast

from analytics.scaling import pace
from analytics.scaling.decision import Action, Binding, Decision
from analytics.scaling.limits import fit
from analytics.scaling.need import Needs, event_floor, needs
from analytics.scaling.sight import blindness, partial
from analytics.scaling.state import Memory, PoolState, known
from analytics.scaling.what_if import what_if

#: Reasons that come from what is seen now rather than from what is expected.
REACTIVE = ("queue", "kv", "ttft_trend")
#: Of these, what is over as soon as it is no longer seen: it asks for instances and is not remembered.
PASSING = ("queue", "ttft_trend")


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The outcome before it is written out."""

    proposed: int
    action: Action
    binding: Binding
    because: tuple[str, ...]
    need: int
    lasting: int
    memory: Memory
    advice: tuple[str, ...] = ()


_NOTHING = Needs({}, {}, nan, nan, nan, nan)


def decide(state: PoolState, now: datetime) -> Decision:
    """Return the decision for one pool.

    The order is: a person's word, blindness (hold, never shrink), the needs by reason, limits, then pace. Current
    counts instances asked for, so instances that are still starting are supply and never asked for twice.
    """
    asked = _NOTHING
    if state.pin is not None and state.pin.until > now:
        word = f"pinned to {state.pin.instances} until {state.pin.until:%Y-%m-%d %H:%M} UTC by {state.pin.by}"
        verdict = _standing(state, "pinned", "standby", state.pin.instances, (word,))
    elif state.frozen:
        verdict = _standing(state, "pinned", "standby", state.current, ("scaling is frozen by an operator",))
    elif blind := blindness(state, now):
        verdict = _standing(state, "hold_blind", "stale_data", state.current, (*blind, "holding what is there"))
    else:
        asked = needs(state, now)
        verdict = _weigh(state, asked, now)
    return _written(state, verdict, asked, now)


def decide_all(states: Iterable[PoolState], now: datetime) -> tuple[Decision, ...]:
    """Return the decision of every pool in order."""
    return tuple(decide(state, now) for state in states)


def _standing(state: PoolState, action: Action, binding: Binding, count: int, because: tuple[str, ...]) -> _Verdict:
    """A fleet that stays; watching starts again afterwards, so that nothing shrinks right after a gap."""
    memory = replace(state.memory, needs=(), since=None)
    return _Verdict(count, action, binding, because, count, count, memory)


def _weigh(state: PoolState, asked: Needs, now: datetime) -> _Verdict:
    advice = _advice(state, asked)
    reasons = dict(asked.by_reason)
    if state.causes:
        for name in REACTIVE:
            if reasons.pop(name, None) is not None:
                advice = (*advice, f"do not scale, fix: {', '.join(state.causes)} explains the {name} signal")
    binding = max(reasons, key=lambda name: reasons[name])
    # An instance that gives no page is taken to be as loaded as the others.
    hidden = state.sight.expected / state.sight.reporting if 0 < state.sight.reporting < state.sight.expected else 1.0
    floor = float(event_floor(state, now))

    def wished(asking: float) -> float:
        wish = max(asking * (hidden if asking < state.current else 1.0), floor)
        if wish <= 0.01 and not _may_be_empty(state):
            return 0.0 if state.pool.min > 0 else 1.0
        return wish

    wish = wished(reasons[binding])
    fitted = fit(state.pool, wish)
    need = fitted.instances
    stays = max(value for name, value in reasons.items() if name not in PASSING)
    lasting = min(fit(state.pool, wished(stays)).instances, need)
    history = pace.remembered(state, lasting, now)
    memory = replace(state.memory, needs=history, since=state.memory.since or now, score=asked.score, scored_at=now)
    because = [asked.why[name] for name in sorted(reasons, key=lambda name: -reasons[name])]
    because += fitted.because
    proposed: int = state.current
    action: Action = "hold"
    if need > state.current:
        proposed, note = pace.up(state, need, wish)
        if state.unschedulable and state.unschedulable_seconds > state.settings.unschedulable_patience_seconds:
            proposed, note = (
                state.current,
                (
                    f"{state.unschedulable} asked-for instance(s) have found no machine for"
                    f" {state.unschedulable_seconds:.0f} s: asking for more would not help"
                ),
            )
        because += [note] if note else []
        action = "up" if proposed > state.current else "hold"
    elif need < state.current:
        hindrance = partial(state)
        if hindrance is None and state.causes:
            hindrance = f"nothing is given back while {', '.join(state.causes)} stands as a cause"
        if hindrance is None:
            proposed, hindrance = pace.down(state, memory, need, now)
        because += [hindrance] if hindrance else []
        action = "down" if proposed < state.current else "hold"
    if proposed != state.current:
        memory = replace(memory, changed_at=now, changed_by=proposed - state.current)
    shown = cast("Binding", "budget" if fitted.over_budget else binding)
    return _Verdict(proposed, action, shown, tuple(because), need, lasting, memory, advice)


def _may_be_empty(state: PoolState) -> bool:
    """Zero pays once holding has cost what starting again costs, several times over."""
    patience = state.settings.zero_after_cold_starts * state.cold_start.p95
    return state.pool.min == 0 and state.idle_seconds > patience


def _advice(state: PoolState, asked: Needs) -> tuple[str, ...]:
    found = []
    capacity = state.capacity
    if known(capacity.drift) and capacity.drift < -0.1:
        since = f" since {capacity.drift_since}" if capacity.drift_since else ""
        found.append(f"capacity {capacity.drift:+.0%}{since}: look there before buying instances")
    if state.partner_current is not None and state.pool.ratio:
        fair = state.pool.ratio * state.partner_current
        if abs(fair - state.current) > max(state.pool.unit, 0.15 * fair):
            found.append(f"{state.current} instances stand beside {state.partner_current} of {state.pool.partner}")
    forecast = max(asked.by_reason["forecast"], 1.0)
    if known(asked.little) and abs(asked.little - forecast) > state.settings.little_tolerance_ratio * forecast:
        found.append(f"Little's law asks for {asked.little:.1f} instances")
    if known(state.load.preemptions_per_second) and state.load.preemptions_per_second > 0.5:
        found.append("the scheduler preempts: more KV per instance helps more than more instances")
    return tuple(found)


def _written(state: PoolState, verdict: _Verdict, asked: Needs, now: datetime) -> Decision:
    demand = asked.served if known(asked.served) else state.demand.q90
    pool = state.pool
    return Decision(
        pool=pool.name,
        model=pool.model,
        role=pool.role,
        region=pool.region,
        current=state.current,
        actual=state.ready,
        unschedulable=state.unschedulable,
        proposed=verdict.proposed,
        need=verdict.need,
        lasting_need=verdict.lasting,
        action=verdict.action,
        binding=verdict.binding,
        because=verdict.because,
        forecast_horizon_seconds=state.cold_start.p95,
        cold_start=state.cold_start,
        demand_now=state.demand.now,
        demand_q50=state.demand.q50,
        demand_q90=state.demand.q90,
        demand_served=asked.served,
        reserve=asked.reserve,
        demand_basis=state.demand.basis,
        capacity=state.capacity,
        needs=asked.by_reason,
        minus_1=what_if(state, verdict.proposed - pool.unit, demand),
        plus_1=what_if(state, verdict.proposed + pool.unit, demand),
        cost_current=pool.cost_per_hour(state.current),
        cost_proposed=pool.cost_per_hour(verdict.proposed),
        confidence=_confidence(state, verdict, asked),
        headroom_score=verdict.memory.score,
        decided_at=now,
        valid_until=now + timedelta(seconds=state.settings.valid_seconds),
        memory=verdict.memory,
        advice=verdict.advice,
        victims=tuple(state.victims[: max(0, state.current - verdict.proposed)]),
    )


def _confidence(state: PoolState, verdict: _Verdict, asked: Needs) -> float:
    """Return 0..1: the width of the capacity interval, measured or assumed cold start, agreement, sight."""
    if verdict.action == "hold_blind":
        return 0.0
    if verdict.action == "pinned":
        return 1.0
    capacity = state.capacity
    width = (capacity.high - capacity.low) / capacity.value if known(capacity.high) and known(capacity.low) else 1.0
    confidence = 1 / (1 + 0.5 * max(width, 0.0))
    confidence *= 1.0 if state.cold_start.lives else 0.8
    confidence *= 0.5 if capacity.origin.startswith("prior") else 1.0
    if known(asked.little):
        off = abs(asked.little - asked.by_reason["forecast"]) / max(asked.by_reason["forecast"], 1.0)
        confidence *= 1.0 if off <= state.settings.little_tolerance_ratio else 0.8
    return confidence * (0.7 if partial(state) else 1.0)

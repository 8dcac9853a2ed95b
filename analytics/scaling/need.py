"""How many instances each reason asks for, as fractions; reads load and forecast, never GPU utilisation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import erf, nan, sqrt

from analytics.scaling.state import Capacity, PoolState, known, normal_score


@dataclass(frozen=True, slots=True)
class Needs:
    """Instances asked for by reason; `why` holds one sentence for each reason that asks for something."""

    by_reason: dict[str, float]
    why: dict[str, str]
    #: Normal score of the demand quantile that is served, and that demand; what lies above the median is the reserve.
    score: float
    served: float
    reserve: float
    little: float

    def binding(self) -> str:
        return max(self.by_reason, key=lambda reason: self.by_reason[reason])


def needs(state: PoolState, now: datetime) -> Needs:
    """Return what forecast, backlog, KV, TTFT trend, standby and lost regions ask for."""
    capacity = safe_capacity(state.capacity)
    score = headroom(state, now)
    factor = event_factor(state, now)
    expected = state.demand.at_score(score) * factor
    reserve = expected - state.demand.q50 * factor
    if not known(expected):
        expected = state.demand.now * factor
    asked = {"forecast": expected / capacity}
    quantile = 50 * (1 + erf(score / sqrt(2)))
    why = {
        "forecast": f"demand at +{state.cold_start.p95:.0f} s is {expected:.3g} req/s at q{quantile:.3g}"
        f"{f', {reserve:.3g} of it in reserve for growth during the start' if reserve > 0 else ''}"
        f"{'' if factor == 1 else f' (x {factor:.2g} by the event calendar)'};"
        f" one instance serves {capacity:.3g} req/s within the objectives"
    }
    _standby(state, capacity, asked, why)
    _queue(state, expected, capacity, asked, why)
    _kv(state, asked, why)
    _ttft(state, asked, why)
    if state.lost_region_share > 0 or state.pool.survive:
        base = max(asked["forecast"], 0.0)
        asked["n_minus_1"] = base * (1 + state.lost_region_share) + state.pool.survive
        why["n_minus_1"] = (
            f"{state.pool.survive} instance(s) and {state.lost_region_share:.0%} of another region's load"
            " must fit after a failure"
        )
    return Needs(asked, why, score, expected, reserve, _little(state, expected))


def safe_capacity(capacity: Capacity) -> float:
    """Return the rate to plan with: the estimate, pulled half-way to its lower bound while evidence is thin."""
    if not known(capacity.low) or capacity.windows >= 200:
        return capacity.value
    weight = 0.5 * (1 - capacity.windows / 200)
    return capacity.value - weight * max(0.0, capacity.value - capacity.low)


def headroom(state: PoolState, now: datetime) -> float:
    """Return the normal score of the demand quantile to serve, as the error budget has taught it so far.

    It begins where the budget that is left and the cold start put it. Then every hour in which the budget burns faster
    than allowed raises it, every calmer one lowers it: what is spent over weeks is the budget, no more and no less.
    """
    settings, memory = state.settings, state.memory
    if not known(memory.score) or memory.scored_at is None:
        first = normal_score(_first_quantile(state)) + settings.score_per_second * state.cold_start.p95
        return min(first, settings.scores[1])
    hours = min(max((now - memory.scored_at).total_seconds(), 0.0) / 3600, 1.0)
    if not known(state.burn_rate):
        return memory.score
    left = state.budget_remaining
    allowed = min(1.0, settings.budget_kept_ratio + max(left, 0.0)) if known(left) else 1.0
    over = min(state.burn_rate, settings.burn_most) - allowed
    gain = settings.steering_per_hour * min(1.0, settings.steady_seconds / max(state.cold_start.p95, 1.0))
    low, high = settings.scores
    return min(max(memory.score + gain * hours * over, low), high)


def _first_quantile(state: PoolState) -> float:
    settings = state.settings
    if not known(state.budget_remaining):
        return settings.quantile_unknown
    share = min(max(state.budget_remaining, -1.0), 1.0)
    knots = settings.quantiles
    for (low, at_low), (high, at_high) in pairwise(knots):
        if share <= high:
            return at_low + (at_high - at_low) * (share - low) / (high - low)
    return knots[-1][1]


def event_factor(state: PoolState, now: datetime) -> float:
    """Return the largest factor of the events that touch [now, now + cold start]."""
    lead = state.cold_start.p95
    factors = [
        event.factor for event in state.events if (event.start - now).total_seconds() <= lead and event.end > now
    ]
    return max(factors, default=1.0)


def event_floor(state: PoolState, now: datetime) -> int:
    """Return the instances that the calendar asks for within the horizon."""
    lead = state.cold_start.p95
    return max(
        (event.instances for event in state.events if (event.start - now).total_seconds() <= lead and event.end > now),
        default=0,
    )


def _standby(state: PoolState, capacity: float, asked: dict[str, float], why: dict[str, str]) -> None:
    """Hot standby that was configured, on top of what the load of now needs; and a share of the last hours' peak.

    A burst reserve is no extra here: it is the part of the served demand above the median, which holds the growth that
    this pool has shown over one cold start, and before it has shown any, the assumed one.
    """
    settings, now = state.settings, state.demand.now / capacity
    if state.pool.standby > 0:
        asked["standby"] = now + state.pool.standby
        why["standby"] = f"{now:.2f} instances carry the load of now, {state.pool.standby} stand by"
    share = min(settings.return_ratio + settings.return_per_second * state.cold_start.p95, settings.return_most)
    stays = share * state.demand.high / capacity
    if known(stays) and stays > max(asked["forecast"], asked.get("standby", 0.0)):
        asked["standby"] = stays
        why["standby"] = (
            f"{share:.0%} of the {state.demand.high:.3g} req/s seen within three hours stays ready:"
            " what fell away may return at once"
        )


def _queue(state: PoolState, expected: float, capacity: float, asked: dict[str, float], why: dict[str, str]) -> None:
    """A backlog beyond what the objective allows is to be drained in time."""
    queue = state.load.queue
    if not known(queue) or queue <= 0 or not known(state.demand.now):
        return
    allowed = max(1.0, state.ready * capacity * state.load.ttft_objective_seconds)
    excess = queue - allowed
    if excess <= 0:
        return
    demand = max(state.demand.now, 0.0)
    rate = min(demand + excess / state.settings.drain_seconds, state.settings.backlog_ratio * max(demand, expected))
    asked["queue"] = rate / capacity
    why["queue"] = (
        f"{queue:.0f} requests wait, {allowed:.0f} would still meet the objective;"
        f" draining the rest within {state.settings.drain_seconds:.0f} s, at most"
        f" {state.settings.backlog_ratio:g} x the demand, takes {rate:.3g} req/s"
    )


def _kv(state: PoolState, asked: dict[str, float], why: dict[str, str]) -> None:
    usage, limit = state.load.kv_usage_ratio, state.settings.kv_usage_ratio
    if known(usage) and usage > limit and state.ready:
        asked["kv"] = state.ready * usage / limit
        why["kv"] = f"KV cache is {usage:.0%} full, planned for {limit:.0%}"


def _ttft(state: PoolState, asked: dict[str, float], why: dict[str, str]) -> None:
    """A tail that rises towards the objective asks for one unit before it is missed."""
    load = state.load
    if not (known(load.ttft_seconds) and known(load.ttft_before_seconds)):
        return
    near = load.ttft_seconds > state.settings.ttft_warning_ratio * load.ttft_objective_seconds
    if near and load.ttft_seconds > 1.25 * load.ttft_before_seconds and asked["forecast"] > 0.6 * state.current:
        asked["ttft_trend"] = float(state.current + state.pool.unit)
        why["ttft_trend"] = (
            f"TTFT P90 rose from {load.ttft_before_seconds:.2g} to {load.ttft_seconds:.2g} s"
            f" against an objective of {load.ttft_objective_seconds:.2g} s"
        )


def _little(state: PoolState, expected: float) -> float:
    """Instances by Little's law: arrivals x latency = requests in flight, over what one instance holds."""
    latency, seats = state.load.mean_latency_seconds, state.capacity.in_flight
    if state.load.queue > max(1.0, 0.5 * state.ready):
        return nan  # the latency of now is the queue's, not the instances'
    return expected * latency / seats if known(latency) and known(seats) and seats > 0 else nan

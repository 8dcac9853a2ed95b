"""Runs policies on the same arrivals through the discrete-event model and judges them alike; recommends none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import exp, inf, nan

import numpy as np
import numpy.typing as npt

from analytics.replay.ability import Ability, ability_of
from analytics.replay.arrivals import Arrivals
from analytics.replay.engine import Engine
from analytics.replay.fluid import run as run_fluid
from analytics.replay.outcome import Outcome, changes, judge, within
from analytics.replay.simulator import Reading, Simulator
from analytics.scaling.oracle import Costs, cheapest
from analytics.scaling.policies import Observation, Policy, Setting, get
from analytics.scaling.policies.planned import Planned

Floats = npt.NDArray[np.float64]
TICK_SECONDS = 15.0
#: The oracle plans by the minute.
PLAN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """What is replayed on: the engine, its price, and how large the fleet may become."""

    engine: Engine = field(default_factory=Engine)
    gpus_per_instance: int = 1
    usd_per_gpu_hour: float = nan
    largest: int = 200
    smallest: int = 1
    routing: str = "least_busy"


@dataclass(frozen=True, slots=True)
class Objective:
    """A request is good within both; `tpot_seconds` infinite means that only the first token counts."""

    ttft_seconds: float = 2.0
    tpot_seconds: float = inf
    target: float = 0.99


def demand_of(arrivals: Arrivals, tick_seconds: float = TICK_SECONDS) -> Floats:
    """Return arrivals per second by tick, up to the last arrival."""
    length = float(arrivals.seconds[-1]) if len(arrivals) else 0.0
    count = max(4, int(np.ceil((length + 1e-9) / tick_seconds / 4)) * 4)
    counts = np.bincount((arrivals.seconds / tick_seconds).astype(np.int64), minlength=count)
    return counts[:count] / tick_seconds


def setting_of(
    arrivals: Arrivals, fleet: Fleet, objective: Objective, ability: Ability, cold_start_seconds: float
) -> Setting:
    """Return what every policy is told: what one instance can do with this mix, and the mix's mean lengths."""
    return Setting(
        cold_start_seconds=cold_start_seconds,
        capacity=ability.rate,
        in_flight=min(ability.in_flight, float(fleet.engine.seats)),
        seats=fleet.engine.seats,
        largest=fleet.largest,
        smallest=fleet.smallest,
        tick_seconds=TICK_SECONDS,
        objective_seconds=objective.ttft_seconds,
        target_ratio=objective.target,
        input_tokens=float(arrivals.input_tokens.mean()),
        output_tokens=float(arrivals.output_tokens.mean()),
        kv_tokens=fleet.engine.kv_tokens,
    )


def tuned(name: str, demand: Floats, setting: Setting, first: int) -> float:
    """Return the target of the policy's grid that reaches the objective at the least cost in the fluid model.

    Where none reaches it, the one with the best good ratio.
    """
    entry = get(name)
    if len(entry.grid) == 1:
        return entry.grid[0]
    outcomes = [(judge(name, run_fluid(demand, entry.make(setting, x), setting, first)), x) for x in entry.grid]
    reached = [pair for pair in outcomes if pair[0].good_ratio >= setting.target_ratio]
    if reached:
        return min(reached, key=lambda pair: pair[0].gpu_hours)[1]
    return max(outcomes, key=lambda pair: pair[0].good_ratio)[1]


def oracle_policy(demand: Floats, setting: Setting) -> Planned:
    """Return the clairvoyant plan as a policy."""
    costs = Costs(PLAN_SECONDS, setting.cold_start_seconds, setting.in_flight / setting.capacity)

    def ratio(plan: npt.NDArray[np.int64]) -> float:
        policy = Planned(setting, plan, PLAN_SECONDS)
        return judge("oracle", run_fluid(demand, policy, setting, max(int(plan[0]), 1))).good_ratio

    plan = cheapest(demand, setting.capacity, costs, ratio, setting.target_ratio)
    return Planned(setting, np.maximum(plan, setting.smallest), PLAN_SECONDS)


def play(
    name: str, arrivals: Arrivals, policy: Policy, setting: Setting, fleet: Fleet, objective: Objective, first: int
) -> Outcome:
    """Run one policy through the discrete-event model."""
    simulator = Simulator(
        arrivals, fleet.engine, first, fleet.largest, fleet.routing, objective_seconds=objective.ttft_seconds
    )
    length = float(arrivals.seconds[-1]) if len(arrivals) else 0.0
    ticks = int(np.ceil((length + 1e-9) / TICK_SECONDS))
    asked = np.zeros(max(ticks, 1), dtype=np.int64)
    due = 0.0
    for k in range(ticks):
        now = (k + 1) * TICK_SECONDS
        simulator.advance(now)
        if now >= due:
            wanted = policy.desired(observed(simulator.reading(), TICK_SECONDS))
            simulator.resize(wanted, now, setting.cold_start_seconds)
            due = now + policy.interval_seconds
        asked[k] = simulator.asked
    hours = simulator.instance_seconds / 3600 * fleet.gpus_per_instance
    simulator.finish()
    return _judged(name, arrivals, simulator, asked, hours, fleet, objective)


def observed(reading: Reading, tick_seconds: float) -> Observation:
    """Return what a policy sees of a reading."""
    each = reading.running / reading.ready if reading.ready else 0.0
    return Observation(
        seconds=reading.seconds,
        asked=reading.asked,
        ready=reading.ready,
        starting=reading.starting,
        arrival_rate=reading.arrived / tick_seconds,
        finish_rate=reading.first_tokens / tick_seconds,
        queue=reading.queue,
        running=reading.running,
        kv_usage_ratio=reading.kv_usage_ratio,
        gpu_busy_ratio=1 - exp(-each),
        ttft_seconds=nan,
        tpot_seconds=nan,
        served=float(reading.first_tokens),
        good=float(reading.good),
        reporting=reading.ready,
    )


@dataclass(frozen=True, slots=True)
class Scorecard:
    """Each outcome with its GPU-hours over the oracle's, the cheapest good one first; what one instance can do.

    An outcome keeps the objective where its good ratio is what can be reached with this mix of requests.
    """

    outcomes: tuple[tuple[Outcome, float], ...]
    ability: Ability


def scorecard(
    arrivals: Arrivals,
    fleet: Fleet,
    objective: Objective,
    policies: Sequence[str],
    cold_start_seconds: float,
    tune: bool = True,
) -> Scorecard:
    """Judge each policy and the oracle, which is always there.

    Baselines are given the target that suits these very arrivals best in the fluid model; this recommender runs on
    its defaults.
    """
    demand = demand_of(arrivals)
    limits = objective.ttft_seconds, objective.tpot_seconds
    ability = ability_of(arrivals, fleet.engine, *limits, objective.target)
    setting = setting_of(arrivals, fleet, objective, ability, cold_start_seconds)
    objective = replace(objective, target=ability.reachable)
    early = demand[: max(1, int(300 / TICK_SECONDS))]
    first = int(np.clip(np.ceil(early.mean() / setting.capacity * 1.2), fleet.smallest, fleet.largest))
    best = play("oracle", arrivals, oracle_policy(demand, setting), setting, fleet, objective, first)
    found = [best]
    for name in policies:
        if name == "oracle":
            continue
        entry = get(name)
        target = tuned(name, demand, setting, first) if tune else entry.grid[len(entry.grid) // 2]
        told = replace(setting, history=np.array([float(demand.max())])) if name == "static-peak" else setting
        found.append(play(name, arrivals, entry.make(told, target), setting, fleet, objective, first))
    found.sort(key=lambda outcome: (outcome.good_ratio < ability.reachable, outcome.gpu_hours))
    hours = best.gpu_hours
    return Scorecard(tuple((one, one.gpu_hours / hours if hours else nan) for one in found), ability)


def _judged(
    name: str,
    arrivals: Arrivals,
    simulator: Simulator,
    asked: npt.NDArray[np.int64],
    hours: float,
    fleet: Fleet,
    objective: Objective,
) -> Outcome:
    ttft = simulator.ttft_seconds()
    limits = objective.ttft_seconds, objective.tpot_seconds
    good = within(ttft, simulator.e2e_seconds(), arrivals.output_tokens, *limits)
    minute = (arrivals.seconds // 60).astype(np.int64)
    total = np.bincount(minute)
    fine = np.bincount(minute, weights=good)
    flaps, events = changes(asked, TICK_SECONDS)
    known = ttft[np.isfinite(ttft)]
    return Outcome(
        policy=name,
        good_ratio=float(good.mean()) if len(good) else nan,
        bad_minutes=int((fine < objective.target * total - 1e-9).sum()),
        gpu_hours=hours,
        flaps=flaps,
        scale_events=events,
        p99_ttft=float(np.quantile(known, 0.99, method="inverted_cdf")) if len(known) else nan,
        usd=hours * fleet.usd_per_gpu_hour,
    )

"""What one instance can do with a mix of requests: the rate within the objectives, found by replaying the mix itself.

Lengths with a heavy tail serve far less than their mean says, and some requests meet no objective even alone: both are
found here, so that plans are made for the mix and judged by what can be reached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from analytics.replay.arrivals import Arrivals
from analytics.replay.engine import Engine
from analytics.replay.outcome import within
from analytics.replay.simulator import Simulator
from signals.errors import InputError

Rows: TypeAlias = npt.NDArray[np.int64]
#: Requests that are drawn of the mix, the instances that share them, and the seed of both.
SAMPLE, INSTANCES, SEED = 3_000, 4, 0
#: A queue needs time to grow: so long a rate is tried, with so many requests at least and at most.
TRIED_SECONDS, FEWEST, MOST = 90.0, 1_000, 8_000
#: Bisections of the rate, in logarithms, after it has been bracketed by doubling.
HALVINGS, DOUBLINGS = 5, 14
#: Long prompts hold up short ones at any load: an instance is planned to be used at least so much of what it can do.
LEAST_USE = 0.25
#: Seconds between requests that are to be alone.
ALONE_SECONDS = 1_000.0


@dataclass(frozen=True, slots=True)
class Ability:
    """`rate` requests per second of one instance within the objectives, `in_flight` requests then on it.

    `attainable` is the good ratio of requests that each have an instance to themselves, `reachable` the one to plan
    for: the target itself where requests that are hopeless leave at least half of its budget.
    """

    rate: float
    in_flight: float
    attainable: float
    reachable: float


def ability_of(
    mix: Arrivals, engine: Engine, ttft_seconds: float, tpot_seconds: float = inf, target: float = 0.99
) -> Ability:
    """Return what one instance can do with requests like those of `mix`, which must not be empty.

    The rate is the highest at which `target` of the requests that can be good at all are good, arrivals being random
    (Poisson) and four instances sharing them; it lies between a quarter of what the instance can do and all of it: the
    rate at which requests wait for a seat no longer than they are served. Raises InputError where the engine can serve
    none of them.
    """
    rng = np.random.default_rng(SEED)
    drawn = np.sort(rng.choice(len(mix), min(SAMPLE, len(mix)), replace=False))
    order = rng.permutation(np.resize(drawn, MOST))
    gaps = rng.exponential(1.0, MOST)

    def good_ratio(run: Simulator, rows: Rows) -> float:
        tokens = mix.output_tokens[rows]
        return float(within(run.ttft_seconds(), run.e2e_seconds(), tokens, ttft_seconds, tpot_seconds).mean())

    alone = _replay(mix, drawn, np.full(len(drawn), ALONE_SECONDS), engine, 1)
    served = _mean(alone.e2e_seconds())
    if not np.isfinite(served):
        raise InputError(f"the engine can serve none of the requests: its KV cache holds {engine.kv_tokens:,} tokens")
    attainable = good_ratio(alone, drawn)

    def tried(rate: float) -> tuple[Simulator, Rows]:
        count = int(np.clip(rate * INSTANCES * TRIED_SECONDS, FEWEST, MOST))
        return _replay(mix, order[:count], gaps[:count] / (rate * INSTANCES), engine, INSTANCES), order[:count]

    full = _highest(lambda rate: _mean(tried(rate)[0].queue_seconds()) <= served, 1.0)
    low, high = LEAST_USE * full, full
    wanted = target if 1 - attainable <= (1 - target) / 2 else target * attainable
    if good_ratio(*tried(low)) >= wanted > 0:
        low = _bisected(lambda rate: good_ratio(*tried(rate)) >= wanted, low, high)
    elif attainable == 0:
        low = full
    run, rows = tried(low)
    return Ability(low, max(1.0, low * _mean(run.e2e_seconds())), attainable, min(wanted, good_ratio(run, rows)))


def _highest(holds: Callable[[float], bool], guess: float) -> float:
    """Return the highest rate that holds, to a few hundredths, bracketed by doubling or halving a guess."""
    low = high = guess
    if holds(guess):
        for _ in range(DOUBLINGS):
            high *= 2.0
            if not holds(high):
                break
            low = high
    else:
        for _ in range(DOUBLINGS):
            low *= 0.5
            if holds(low):
                break
            high = low
    return _bisected(holds, low, high)


def _bisected(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the highest rate that holds between one that does and one that does not."""
    for _ in range(HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _mean(values: npt.NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _replay(mix: Arrivals, chosen: Rows, gaps: npt.NDArray[np.float64], engine: Engine, instances: int) -> Simulator:
    seconds = np.cumsum(gaps)
    load = Arrivals(
        seconds, mix.input_tokens[chosen], mix.output_tokens[chosen], mix.cached[chosen], mix.key[chosen],
        mix.shared[chosen],
    )  # fmt: skip
    simulator = Simulator(load, engine, instances, instances)
    simulator.advance(float(seconds[-1]) + 1.0)
    simulator.finish()
    return simulator

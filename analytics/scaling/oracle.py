"""What could have been at best: the cheapest plan that knows the future, by dynamic programming; no policy may see it.

Each step costs the instances that are paid for, a penalty per request beyond capacity, and for every instance started
the cold start (paid, not serving) plus a switching cost. After a step up nothing is given back for the minimum hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds: a step, the cold start and drain that each change pays, the switching cost, the minimum hold."""

    step_seconds: float
    cold_start_seconds: float
    drain_seconds: float = 0.0
    switch_seconds: float = 60.0
    hold_seconds: float = 600.0


def plan(demand: Floats, capacity: float, penalty: float, costs: Costs, ticks: int = 4) -> Ints:
    """Return the instances per step that minimise the total cost in instance-seconds.

    `demand` holds requests per second per tick, `ticks` of them to one step; `penalty` is instance-seconds per request
    that exceeds capacity. The states are (instances, steps until a reduction is allowed).
    """
    excess = _excess(demand, capacity, costs.step_seconds / ticks, ticks)
    steps, states = excess.shape
    hold = max(1, round(costs.hold_seconds / costs.step_seconds))
    start = costs.cold_start_seconds + costs.switch_seconds
    sizes = np.arange(states, dtype=np.float64)
    value = np.zeros((hold + 1, states))
    choice = np.zeros((steps, 2, states), dtype=np.int16)
    stay = np.zeros((steps, hold + 1, states), dtype=bool)
    for t in range(steps - 1, -1, -1):
        here = value + (sizes * costs.step_seconds + penalty * excess[t])[None, :]
        # Arriving at (n, hold) from below costs start x (n - from); at (n, 0) from above costs the drain.
        up_to, up = _suffix_minimum(here[hold] + start * sizes)
        up = up - start * sizes
        down_to, down = _prefix_minimum(here[0] - costs.drain_seconds * sizes)
        down = down + costs.drain_seconds * sizes
        choice[t, 0], choice[t, 1] = up_to, down_to
        aged = np.vstack([here[0], here[:-1]])  # staying lets the hold run down by one
        best = np.minimum(aged, up[None, :])
        stay[t] = aged <= up[None, :]
        lower = down < best[0]
        best[0] = np.where(lower, down, best[0])
        stay[t, 0] &= ~lower
        value = best
        choice[t, 1] = np.where(lower, down_to, -1)
    return _followed(choice, stay, int(np.argmin(value[0])), hold)


def cheapest(
    demand: Floats,
    capacity: float,
    costs: Costs,
    good_ratio: Callable[[Ints], float],
    target: float = 0.99,
    rounds: int = 9,
) -> Ints:
    """Return the cheapest plan found whose `good_ratio` (by the caller's own model) reaches `target`.

    The penalty is found by bisection on its logarithm; a plan that reaches the target at less penalty costs less.
    """
    low, high = -3.0, 9.0
    best = plan(demand, capacity, float(np.exp(high)), costs)
    for _ in range(rounds):
        middle = 0.5 * (low + high)
        found = plan(demand, capacity, float(np.exp(middle)), costs)
        if good_ratio(found) >= target:
            best, high = found, middle
        else:
            low = middle
    return best


def _excess(demand: Floats, capacity: float, tick_seconds: float, ticks: int) -> Floats:
    """Return requests per step beyond the capacity of n instances, shape (steps, largest n + 1)."""
    steps = len(demand) // ticks
    by_step = demand[: steps * ticks].reshape(steps, ticks)
    states = int(np.ceil(by_step.max() / capacity)) + 2
    rates = np.arange(states) * capacity
    return np.stack([np.maximum(by_step - rate, 0.0).sum(axis=1) * tick_seconds for rate in rates], axis=1)


def _suffix_minimum(values: Floats) -> tuple[Ints, Floats]:
    """Return the place and value of the smallest entry at or after each place."""
    places, least = _prefix_minimum(values[::-1])
    return len(values) - 1 - places[::-1], least[::-1]


def _prefix_minimum(values: Floats) -> tuple[Ints, Floats]:
    """Return the place and value of the smallest entry at or before each place."""
    least = np.minimum.accumulate(values)
    fresh = np.concatenate([[True], values[1:] < least[:-1]])
    return np.maximum.accumulate(np.where(fresh, np.arange(len(values)), 0)), least


def _followed(choice: npt.NDArray[np.int16], stay: npt.NDArray[np.bool_], first: int, hold: int) -> Ints:
    """Walk forward through the decisions from the cheapest first state."""
    steps = len(choice)
    out = np.zeros(steps, dtype=np.int64)
    size, left = first, 0
    for t in range(steps):
        if stay[t, left, size]:
            left = max(left - 1, 0)
        elif left == 0 and choice[t, 1, size] >= 0:
            size = int(choice[t, 1, size])
        else:
            size, left = int(choice[t, 0, size]), hold
        out[t] = size
    return out

"""Dynamo's planner, throughput and load loops, from its published description.

Throughput, every 180 s: predict the next interval's requests with a level-and-trend Kalman filter, divide by what an
engine serves within the SLA; the result is the floor. Load, every 5 s while nothing starts: one up if the estimated
TTFT misses the SLA, one down if the rest would still hold 80 % of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

import numpy as np

from analytics.scaling.policies.form import Observation, Setting, clip

INTERVAL_SECONDS = 180.0
#: Process noise of level and trend, measurement noise, first covariance: the planner's defaults.
LEVEL_NOISE, TREND_NOISE, READING_NOISE, FIRST_COVARIANCE = 1.0, 0.1, 10.0, 1000.0
SENSITIVITY = 0.8


@dataclass
class Kalman:
    """Level and trend of a series; `update` takes a reading and returns the prediction one interval ahead."""

    state: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = field(default_factory=lambda: np.zeros(2))
    covariance: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = field(
        default_factory=lambda: np.eye(2) * FIRST_COVARIANCE
    )

    def update(self, reading: float) -> float:
        move = np.array([[1.0, 1.0], [0.0, 1.0]])
        state = move @ self.state
        covariance = move @ self.covariance @ move.T + np.diag([LEVEL_NOISE, TREND_NOISE])
        gain = covariance[:, 0] / (covariance[0, 0] + READING_NOISE)
        self.state = state + gain * (reading - state[0])
        self.covariance = covariance - np.outer(gain, covariance[0])
        return float(self.state[0] + self.state[1])


@dataclass
class Dynamo:
    """Held state of one planner; `target` divides the engine's rate (1 = as measured, 0.8 = 25 % head-room)."""

    setting: Setting
    target: float
    interval_seconds: float = 5.0
    kalman: Kalman = field(default_factory=Kalman)
    _finished: float = 0.0
    _since: float | None = None
    _next: float = 0.0
    _floor: int = 1

    def desired(self, seen: Observation) -> int:
        if seen.finish_rate == seen.finish_rate:
            # The planner counts what the frontend answered in the interval: finished requests.
            passed = seen.seconds - self._since if self._since is not None else 0.0
            self._finished += seen.finish_rate * passed
        self._since = seen.seconds
        if seen.seconds >= self._next:
            if self._next > 0:
                expected = self.kalman.update(self._finished)
                rate = self.setting.capacity * self.target
                self._floor = max(ceil(expected / INTERVAL_SECONDS / rate), self.setting.smallest)
            self._finished, self._next = 0.0, seen.seconds + INTERVAL_SECONDS
        return clip(max(self._floor, self._by_load(seen)), self.setting)

    def _by_load(self, seen: Observation) -> int:
        if seen.starting or seen.reporting != seen.ready or seen.queue != seen.queue:
            return seen.asked
        sla, capacity, ready = self.setting.objective_seconds, self.setting.capacity, max(seen.ready, 1)
        own = 0.1 * sla
        estimated = own + seen.queue / (ready * capacity)
        if estimated > sla or seen.running > ready * self.setting.in_flight * self.target:
            return seen.asked + 1
        if ready > 1:
            fewer = ready - 1
            waits = seen.queue * ready / fewer / (ready * capacity)
            batch = seen.running / fewer
            if waits < SENSITIVITY * (sla - own) and batch < SENSITIVITY * self.target * self.setting.in_flight:
                return seen.asked - 1
        return seen.asked

"""The one form of a scaling policy: what it sees at each tick and what it must answer; holds no policy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import nan
from typing import Protocol

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Setting:
    """What every policy is told about its pool, once. Rates are requests per second."""

    cold_start_seconds: float
    #: What one instance serves within the objectives, and the requests it then holds.
    capacity: float
    in_flight: float
    seats: float
    largest: int
    smallest: int = 1
    tick_seconds: float = 15.0
    objective_seconds: float = 2.0
    target_ratio: float = 0.99
    #: Mean tokens of a request, and the KV tokens of an instance.
    input_tokens: float = 1000.0
    output_tokens: float = 200.0
    kv_tokens: float = 400_000.0
    #: Rates of the past, one per `history_step_seconds`, ending where the run starts; empty where there is none.
    history: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    history_step_seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class Observation:
    """What the pages show at one tick. NaN means that nothing was read, which is not the same as zero."""

    seconds: float
    #: Instances asked for, serving, and still starting.
    asked: int
    ready: int
    starting: int
    #: Requests per second that arrived and that finished since the last tick.
    arrival_rate: float
    finish_rate: float
    queue: float
    running: float
    kv_usage_ratio: float
    gpu_busy_ratio: float
    #: Mean TTFT and mean time per output token since the last tick.
    ttft_seconds: float
    tpot_seconds: float
    #: Requests with and within the TTFT objective since the last tick.
    served: float
    good: float
    #: How many of the ready instances gave a page.
    reporting: int
    #: Seconds since the newest page.
    age_seconds: float = 0.0


class Policy(Protocol):
    """Held state; `desired` is called every `interval_seconds` with what is seen then."""

    interval_seconds: float

    def desired(self, seen: Observation) -> int:
        """Return how many instances should be asked for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A policy by name, with the values over which its one target is tuned and how to make it."""

    name: str
    about: str
    grid: tuple[float, ...]
    make: Callable[[Setting, float], Policy]


@dataclass
class RollingMax:
    """The largest recommendation of the last `window_seconds` (how HPA and most others slow scale-down)."""

    window_seconds: float
    _kept: deque[tuple[float, int]] = field(default_factory=deque)

    def add(self, seconds: float, value: int) -> int:
        while self._kept and self._kept[0][0] < seconds - self.window_seconds:
            self._kept.popleft()
        while self._kept and self._kept[-1][1] <= value:
            self._kept.pop()
        self._kept.append((seconds, value))
        return self._kept[0][1]


@dataclass
class RollingMean:
    """The mean of what was read in the last `window_seconds`; NaN where nothing was."""

    window_seconds: float
    _kept: deque[tuple[float, float]] = field(default_factory=deque)
    _total: float = 0.0

    def add(self, seconds: float, value: float) -> float:
        while self._kept and self._kept[0][0] <= seconds - self.window_seconds:
            self._total -= self._kept.popleft()[1]
        if value == value:  # NaN is not equal to itself
            self._kept.append((seconds, value))
            self._total += value
        return self._total / len(self._kept) if self._kept else nan


def clip(value: float, setting: Setting) -> int:
    """Return the number within the pool's bounds."""
    return int(min(max(value, setting.smallest), setting.largest))

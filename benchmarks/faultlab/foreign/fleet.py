"""Sizes a healthy service for its traffic and holds what a fault bends; records nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from benchmarks.faultlab.foreign.batch import CONTROLS
from benchmarks.faultlab.foreign.habits import Habits, draw_habits
from benchmarks.faultlab.foreign.traffic import Customs, Traffic, draw_customs, draw_requests, draw_times

Floats = npt.NDArray[np.float64]
Curve = Callable[[float], float]
#: Most requests of a case; longer histories are of slower services.
MOST_REQUESTS = 90_000


@dataclass(slots=True)
class Truth:
    """What would be right: causes, segments, and what has to be recorded for an expert to tell the first cause."""

    accepted: tuple[str, ...] = ()
    segments: list[dict[str, str]] = field(default_factory=list)
    needs: frozenset[str] = frozenset()
    instead: tuple[str, ...] = ()
    metric: str = "ttft"


@dataclass(slots=True)
class Fleet:
    """A service and all that may go wrong with it; times are seconds since the record began."""

    rng: np.random.Generator
    habits: Habits
    customs: Customs
    traffic: Traffic
    rate: float
    batch: float
    controls: dict[str, float]
    truth: Truth = field(default_factory=Truth)
    bends: list[tuple[list[int], str, Curve]] = field(default_factory=list)
    pauses: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    born: dict[int, float] = field(default_factory=dict)
    gone: dict[int, float] = field(default_factory=dict)
    restarted: dict[int, float] = field(default_factory=dict)
    moved: dict[int, tuple[float, str]] = field(default_factory=dict)
    pull: dict[int, float] = field(default_factory=dict)
    network: float = 0.0
    gateway_work: float = 1.0
    gateway_held: float = 0.0
    wire: float = 1.0
    late_marks: float = 0.0
    scoring: float = 0.0
    tier_pace: float = 1.0
    adapter_slots: int = 8
    gpu: dict[int, dict[str, float | str]] = field(default_factory=dict)
    xid: list[tuple[int, int]] = field(default_factory=list)
    pressure: dict[str, dict[str, float]] = field(default_factory=dict)
    signals: dict[str, tuple[float, float]] = field(default_factory=dict)
    changes: list[dict[str, object]] = field(default_factory=list)
    split: bool = False
    reads_tier: bool = False

    @property
    def size(self) -> int:
        """Return the number of instances."""
        return len(self.habits.instances)

    def level(self, t: float) -> float:
        """Return how much of the fault is there at `t`, 0 to 1: it may take a while to build up."""
        since, until, ramp = self.habits.since, self.habits.until, self.habits.ramp
        if not since <= t < until:
            return 0.0
        return min((t - since + 1.0) / ramp, 1.0) if ramp > 0 else 1.0

    def levels(self, t: Floats) -> Floats:
        """Return `level` of many times."""
        return np.array([self.level(float(x)) for x in t])

    def bend(self, places: Sequence[int], column: str, factor: float) -> None:
        """Multiply a control of `places` by `factor` as far as the fault has built up."""
        self.bends.append((list(places), column, lambda t: 1 + (factor - 1) * self.level(t)))

    def table(self, place: int) -> Floats:
        """Return the control table of an instance."""
        mine = [(column, curve) for places, column, curve in self.bends if place in places]
        base = [0.0, *(self.controls[name] for name in CONTROLS[1:])]
        if not mine:
            return np.array([base])
        step = 5.0 if self.habits.until - self.habits.since < 900 else 15.0
        marks = np.arange(self.habits.since, min(self.habits.until + 900, self.habits.horizon) + step, step)
        rows = [base]
        for mark in marks.tolist():
            row = list(base)
            row[0] = mark
            for column, curve in mine:
                row[CONTROLS.index(column)] *= curve(mark + 0.01)
            rows.append(row)
        return np.array(rows)

    def some(self, low: float, high: float) -> float:
        """Return a figure between `low` (barely visible) and `high` (huge) by the severity of the case."""
        return float(low * (high / low) ** self.habits.severity)

    def places(self, share: float) -> list[int]:
        """Return that share of the instances, at least one, drawn by chance."""
        count = min(max(1, round(self.size * share)), self.size)
        return sorted(int(i) for i in self.rng.permutation(self.size)[:count])


def draw_fleet(seed: int, smallest: int = 1) -> Fleet:
    """Draw a healthy service, sized so that a usual minute needs between a quarter and two thirds of it."""
    rng = np.random.default_rng(seed)
    habits = draw_habits(rng, smallest)
    customs = draw_customs(rng, habits)
    size = len(habits.instances)
    sample = draw_requests(rng, habits, customs, np.zeros(4000))
    fresh = float(np.mean(sample.prompt - sample.cached))
    answer = float(np.mean(sample.output))
    pace = float(np.exp(rng.uniform(np.log(4_000), np.log(30_000))))
    base, each = float(rng.uniform(0.008, 0.035)), float(rng.uniform(5e-5, 3e-4))
    busy = float(rng.uniform(0.1, 0.35))
    rate = float(np.clip(busy * pace / fresh * size, 0.2, min(80.0, MOST_REQUESTS / habits.horizon)))
    one = rate / size
    batch = 1.0
    for _ in range(30):
        share = one * fresh / pace
        batch = 0.5 * batch + 0.5 * one * answer * (base + each * batch) / max(1 - share, 0.3)
        batch = min(batch, 120.0)
    calm = batch + 3 * np.sqrt(batch) + 3
    room = float(rng.uniform(1.2, 2.5))
    seats = float(np.clip(2 ** np.ceil(np.log2(calm * room)), 8, 512))
    footprint = float(np.mean(sample.prompt + 0.6 * sample.output)) + 16
    memory = max(calm * footprint * float(rng.uniform(1.5, 3.0)), 48_000.0)
    traffic = draw_requests(rng, habits, customs, draw_times(rng, habits, rate, 0.0, habits.horizon))
    controls = {
        "prompt_pace": pace, "base": base, "each": each, "seats": seats, "memory": memory,
        "budget": float(rng.choice([2048, 4096, 8192])), "drafts": 0.0, "accept": 0.0, "grammar": 2e-5,
        "chunks": float(rng.choice([1, 4, 64])),
    }  # fmt: skip
    fleet = Fleet(rng, habits, customs, traffic, rate, batch, controls, adapter_slots=8)
    fleet.reads_tier, fleet.split = bool(rng.random() < 0.2), bool(rng.random() < 0.15)
    return fleet

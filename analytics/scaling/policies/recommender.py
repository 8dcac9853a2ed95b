"""sloscope's own recommender on the policies' form: the same `decide` that serves live, fed from observations."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import nan

import numpy as np

from analytics.scaling.horizon import Outlook
from analytics.scaling.policies.form import Observation, Setting, clip
from analytics.scaling.pool import Pool
from analytics.scaling.recommender import decide
from analytics.scaling.settings import DEFAULT, Settings
from analytics.scaling.state import Capacity, ColdStart, Load, Memory, PoolState, Sight

#: Replays count seconds from here; only differences matter.
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
#: The error budget is watched over three days (good and total per hour).
BUDGET_STEP_SECONDS = 3600.0
BUDGET_STEPS = 72


@dataclass
class Recommender:
    """Held state between decisions: the outlook on demand, the decision's memory, the error budget."""

    setting: Setting
    target: float
    interval_seconds: float = 15.0
    settings: Settings = DEFAULT
    _memory: Memory = field(default_factory=Memory)
    _outlook: Outlook = field(init=False)
    _budget: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=BUDGET_STEPS))
    _open: tuple[float, float] = (0.0, 0.0)
    _slot: int = 0
    _pool: Pool = field(init=False)
    _capacity: Capacity = field(init=False)
    _cold_start: ColdStart = field(init=False)
    _ttft: float = nan
    _newest: datetime | None = None

    def __post_init__(self) -> None:
        setting = self.setting
        stay = max(self.settings.calm_seconds, self.settings.calm_cold_starts * setting.cold_start_seconds)
        self._outlook = Outlook(setting.cold_start_seconds, stay)
        self._outlook.warm(setting.history, setting.history_step_seconds)
        self._pool = Pool("pool", "model", min=setting.smallest, max=setting.largest)
        rate = setting.capacity * self.target
        self._capacity = Capacity(rate, rate, rate, "frontier", 1000, setting.in_flight)
        self._cold_start = ColdStart(setting.cold_start_seconds, setting.cold_start_seconds, 100, "given")

    def desired(self, seen: Observation) -> int:
        now = EPOCH + timedelta(seconds=seen.seconds)
        if seen.reporting and seen.arrival_rate == seen.arrival_rate:
            self._newest = now - timedelta(seconds=seen.age_seconds)
            self._outlook.add(seen.seconds, seen.arrival_rate)
        self._spend(seen)
        load = Load(
            queue=seen.queue,
            running=seen.running,
            kv_usage_ratio=seen.kv_usage_ratio,
            ttft_seconds=seen.ttft_seconds,
            ttft_before_seconds=self._ttft,
            ttft_objective_seconds=self.setting.objective_seconds,
        )
        self._ttft = seen.ttft_seconds
        state = PoolState(
            pool=self._pool,
            current=seen.asked,
            ready=seen.ready,
            starting=seen.starting,
            demand=self._outlook.demand(),
            capacity=self._capacity,
            cold_start=self._cold_start,
            load=load,
            sight=Sight(self._newest, seen.ready, seen.reporting, interval_seconds=self.setting.tick_seconds),
            memory=self._memory,
            budget_remaining=self._remaining(),
            settings=self.settings,
        )
        decision = decide(state, now)
        self._memory = decision.memory
        return clip(decision.proposed, self.setting)

    def _spend(self, seen: Observation) -> None:
        slot = int(seen.seconds // BUDGET_STEP_SECONDS)
        if slot != self._slot:
            self._budget.append(self._open)
            self._open, self._slot = (0.0, 0.0), slot
        if seen.served == seen.served:
            self._open = (self._open[0] + seen.good, self._open[1] + seen.served)

    def _remaining(self) -> float:
        """Return the share of the window's error budget that is left; full while nothing was served."""
        good = self._open[0] + sum(entry[0] for entry in self._budget)
        total = self._open[1] + sum(entry[1] for entry in self._budget)
        if total <= 0:
            return 1.0
        # A window younger than a day is judged against the budget of a day at the same traffic.
        whole = total * max(1.0, 24 / (len(self._budget) + 1))
        return float(np.clip(1 - (total - good) / ((1 - self.setting.target_ratio) * whole), -1.0, 1.0))

"""sloscope's own recommender on the policies' form: the same `decide` that serves live, fed from observations."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import nan

from analytics.scaling.horizon import Outlook
from analytics.scaling.policies.form import Observation, Setting, clip
from analytics.scaling.pool import Pool
from analytics.scaling.recommender import decide
from analytics.scaling.settings import DEFAULT, Settings
from analytics.scaling.state import Capacity, ColdStart, Load, Memory, PoolState, Sight

#: Replays count seconds from here; only differences matter.
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
#: What an hour's misses weigh is told by the traffic of the last three days (served per hour).
TRAFFIC_STEP_SECONDS = 3600.0
TRAFFIC_STEPS = 72


@dataclass
class Recommender:
    """Held state between decisions: the outlook on demand, the decision's memory, what the last hour burnt."""

    setting: Setting
    target: float
    interval_seconds: float = 15.0
    settings: Settings = DEFAULT
    _memory: Memory = field(default_factory=Memory)
    _outlook: Outlook = field(init=False)
    _hour: deque[tuple[float, float, float]] = field(default_factory=deque)
    _bad: float = 0.0
    _served: float = 0.0
    _traffic: deque[float] = field(default_factory=lambda: deque(maxlen=TRAFFIC_STEPS))
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
            burn_rate=self._burn_rate(),
            settings=self.settings,
        )
        decision = decide(state, now)
        self._memory = decision.memory
        return clip(decision.proposed, self.setting)

    def _spend(self, seen: Observation) -> None:
        """Keep what was served and missed within the last hour, and how much earlier hours served."""
        slot = int(seen.seconds // TRAFFIC_STEP_SECONDS)
        if slot != self._slot:
            self._traffic.append(self._served)
            self._slot = slot
        if seen.served == seen.served:
            bad = seen.served - seen.good
            self._hour.append((seen.seconds, bad, seen.served))
            self._bad, self._served = self._bad + bad, self._served + seen.served
        while self._hour and self._hour[0][0] <= seen.seconds - TRAFFIC_STEP_SECONDS:
            _, bad, served = self._hour.popleft()
            self._bad, self._served = self._bad - bad, self._served - served

    def _burn_rate(self) -> float:
        """Return the last hour's misses over what a usual hour may miss; NaN while nothing was served.

        Against a usual hour rather than this one, so that a miss weighs the same at night as at noon.
        """
        usual = max(sum(self._traffic) / len(self._traffic) if self._traffic else 0.0, 0.1 * self._served)
        if usual <= 0:
            return nan
        return max(self._bad, 0.0) / ((1 - self.setting.target_ratio) * usual)

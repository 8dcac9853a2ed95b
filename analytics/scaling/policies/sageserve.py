"""SageServe: an hourly plan from a forecast gives a credit, a reactive gate spends it; from its published code.

The plan covers the largest forecast between 20 and 60 minutes ahead. Credit up is spent above 50 % utilisation, credit
down below 25 %, and without credit one emergency instance comes above 90 %.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

from analytics.scaling.policies.form import Observation, Setting, clip

PLAN_SECONDS = 3600.0
UP_UTILISATION, DOWN_UTILISATION, EMERGENCY_UTILISATION = 0.50, 0.25, 0.90


@dataclass
class SageServe:
    """Held state; `target` multiplies the forecast. The forecast is a line through the past hour's minutes."""

    setting: Setting
    target: float
    interval_seconds: float = 15.0
    _minutes: list[float] = field(default_factory=list)
    _sum: float = 0.0
    _count: int = 0
    _minute: int = 0
    _next: float = 0.0
    _credit: int = 0

    def desired(self, seen: Observation) -> int:
        self._remember(seen)
        if seen.seconds >= self._next and len(self._minutes) >= 10:
            self._credit = ceil(self.target * self._forecast() / self.setting.capacity) - seen.asked
            self._next = seen.seconds + PLAN_SECONDS
        busy = seen.arrival_rate / max(seen.ready * self.setting.capacity, 1e-9)
        if busy != busy:
            return seen.asked
        step = 0
        if self._credit > 0 and busy > UP_UTILISATION:
            step, self._credit = 1, self._credit - 1
        elif self._credit < 0 and busy < DOWN_UTILISATION:
            step, self._credit = -1, self._credit + 1
        elif self._credit == 0 and busy > EMERGENCY_UTILISATION and not seen.starting:
            step = 1
        return clip(seen.asked + step, self.setting)

    def _remember(self, seen: Observation) -> None:
        minute = int(seen.seconds // 60)
        if minute != self._minute and self._count:
            self._minutes = [*self._minutes[-59:], self._sum / self._count]
            self._sum, self._count, self._minute = 0.0, 0, minute
        if seen.arrival_rate == seen.arrival_rate:
            self._sum, self._count = self._sum + seen.arrival_rate, self._count + 1

    def _forecast(self) -> float:
        """Return the highest of a straight line through the past hour at 20 to 60 minutes ahead."""
        values = self._minutes
        count = len(values)
        mean_x, mean_y = (count - 1) / 2, sum(values) / count
        spread = sum((x - mean_x) ** 2 for x in range(count))
        slope = sum((x - mean_x) * (y - mean_y) for x, y in enumerate(values)) / spread
        return max(mean_y + slope * (count - 1 - mean_x + ahead) for ahead in (20, 60))

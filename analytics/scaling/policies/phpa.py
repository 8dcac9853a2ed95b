"""PHPA: an HPA and a line through its own replica history, the larger of both is taken; from its source."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import ceil

from analytics.scaling.policies.form import Observation, Setting, clip
from analytics.scaling.policies.hpa import KedaInFlight

#: Points of history that the line goes through.
HISTORY = 30


@dataclass
class Phpa:
    """Held state; `target` as in-flight HPA, the look-ahead is the cold start."""

    setting: Setting
    target: float
    interval_seconds: float = 15.0
    _points: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=HISTORY))
    _reactive: KedaInFlight | None = None

    def desired(self, seen: Observation) -> int:
        if self._reactive is None:
            self._reactive = KedaInFlight(self.setting, self.target)
        wanted = self._reactive.desired(seen)
        self._points.append((seen.seconds, wanted))
        return clip(max(wanted, self._ahead(seen.seconds + self.setting.cold_start_seconds)), self.setting)

    def _ahead(self, at: float) -> int:
        count = len(self._points)
        if count < 3:
            return 0
        mean_x = sum(x for x, _ in self._points) / count
        mean_y = sum(y for _, y in self._points) / count
        spread = sum((x - mean_x) ** 2 for x, _ in self._points)
        slope = sum((x - mean_x) * (y - mean_y) for x, y in self._points) / spread if spread else 0.0
        return ceil(mean_y + slope * (at - mean_x) - 1e-9)

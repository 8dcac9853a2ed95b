"""Ray Serve's autoscaling, from its published policy: mean ongoing requests over 30 s against a target per replica.

The wish counts only once it has stood for 30 s (up) or 600 s (down) without a break.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

from analytics.scaling.policies.form import Observation, RollingMean, Setting, clip

UP_DELAY_SECONDS = 30.0
DOWN_DELAY_SECONDS = 600.0
LOOK_BACK_SECONDS = 30.0


@dataclass
class RayServe:
    """Held state; `target` is the share of the requests an instance holds at its knee."""

    setting: Setting
    target: float
    interval_seconds: float = 10.0
    mean: RollingMean = field(default_factory=lambda: RollingMean(LOOK_BACK_SECONDS))
    _wish: int = 0
    _since: float = 0.0

    def desired(self, seen: Observation) -> int:
        ongoing = self.mean.add(seen.seconds, seen.running + seen.queue)
        if ongoing != ongoing:
            return seen.asked
        if seen.asked == 0:
            return clip(1 if ongoing > 0 else 0, self.setting)
        wish = clip(ceil(ongoing / (self.target * self.setting.in_flight) - 1e-9), self.setting)
        direction = (wish > seen.asked) - (wish < seen.asked)
        if direction == 0 or direction != self._wish:
            self._wish, self._since = direction, seen.seconds
        delay = UP_DELAY_SECONDS if direction > 0 else DOWN_DELAY_SECONDS
        return wish if direction and seen.seconds - self._since >= delay else seen.asked

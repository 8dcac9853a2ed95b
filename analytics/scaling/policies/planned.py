"""Follows a plan made in advance; how the oracle runs through the same replay as everybody else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analytics.scaling.policies.form import Observation, Setting, clip


@dataclass
class Planned:
    """Asks for `plan[k]` instances at step k of `step_seconds`, one cold start ahead of when they must serve."""

    setting: Setting
    plan: npt.NDArray[np.int64]
    step_seconds: float
    interval_seconds: float = 15.0

    def desired(self, seen: Observation) -> int:
        now = int(seen.seconds // self.step_seconds)
        ahead = int((seen.seconds + self.setting.cold_start_seconds) // self.step_seconds) + 1
        last = len(self.plan) - 1
        # What is needed from now until the new ones could serve stays; what will be needed then is asked for.
        return clip(int(self.plan[min(now, last) : min(ahead, last) + 1].max()), self.setting)

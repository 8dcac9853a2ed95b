"""Which past origins and leads a forecaster is judged on; never looks at values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.history import DAY_SECONDS, FloatArray, History, IntArray
from analytics.forecast.member import targets

#: Days of origins: bands want a fortnight, and a forecast a day ahead comes true a day later.
DAYS = 16
#: Seconds between origins, at least one step.
EVERY_SECONDS = 1800
#: Leads in seconds on which weights, parameters and bands are learnt; between them they are interpolated.
LEAD_SECONDS = (
    300, 600, 1200, 1800, 2400, 3000, 3600, 5400, 7200, 10800, 14400, 21600, 28800, 36000, 43200, 50400, 57600, 64800,
    72000, 79200, DAY_SECONDS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Calibration:
    """Past origins (steps) and leads (steps) on which every member forecasts what was then still unknown."""

    origins: IntArray
    leads: IntArray
    actual: FloatArray

    @property
    def spacing(self) -> int:
        """Steps between origins."""
        return int(self.origins[1] - self.origins[0]) if len(self.origins) > 1 else 1

    def known_before(self, lead: int) -> IntArray:
        """Return, for each origin, how many origins' forecasts at `lead` had come true by then."""
        return np.searchsorted(self.origins, self.origins - lead, side="right").astype(np.int64)


def calibration(history: History) -> Calibration:
    """Return the origins of the past `DAYS`, oldest first, aligned to the end of the history."""
    size = len(history)
    every = history.steps(EVERY_SECONDS)
    first = max(1, size - DAYS * history.day)
    origins = np.arange(size - 1, first - 1, -every, dtype=np.int64)[::-1].copy()
    leads = np.unique([history.steps(seconds) for seconds in LEAD_SECONDS]).astype(np.int64)
    return Calibration(origins, leads, history.at(targets(origins, leads)))


def across_leads(known: FloatArray, leads: IntArray, steps: int) -> FloatArray:
    """Interpolate rows of `known` (leads, k) to every lead 1..steps on a logarithmic scale: (steps, k)."""
    wanted = np.log(np.arange(1, steps + 1))
    columns = [np.interp(wanted, np.log(leads), known[:, place]) for place in range(known.shape[1])]
    return np.stack(columns, axis=1)

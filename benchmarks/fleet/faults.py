"""Runs the recommender through faults of its sight and of its supply, and counts what it must never do."""

from __future__ import annotations

import numpy as np

from analytics.replay.fluid import Fault, run
from analytics.scaling.policies.recommender import Recommender
from benchmarks.fleet.contest import setting_of
from benchmarks.fleet.workloads import Workload

#: Kind and length in seconds; each starts at the busiest hour of the day and at its quietest.
FAULTS = (
    ("gap", 300.0),
    ("gap", 1800.0),
    ("nan", 600.0),
    ("reset", 60.0),
    ("relabel", 1800.0),
    ("stale_pod", 1800.0),
    ("pending", 3600.0),
    ("restart", 120.0),
)
#: Growth beyond this many times the undisturbed run at the same moment is a cascade.
CASCADE_RATIO = 2.0


def faults(workload: Workload) -> tuple[int, int, int]:
    """Return (shrinks while blind, cascades, faults injected) over one day of the workload."""
    setting = setting_of(workload, 180.0)
    day = int(86_400 / workload.tick_seconds)
    demand = workload.demand[:day]
    first = int(np.ceil(demand[:40].mean() / setting.capacity * 1.3))
    calm = run(demand, Recommender(setting, 1.0), setting, first).asked
    hour = int(3600 / workload.tick_seconds)
    by_hour = demand[2 * hour : 22 * hour].reshape(-1, hour).mean(axis=1)
    starts = [(2 + int(np.argmax(by_hour))) * 3600.0, (2 + int(np.argmin(by_hour))) * 3600.0]
    shrinks = cascades = injected = 0
    for kind, length in FAULTS:
        for start in starts:
            injected += 1
            again = Recommender(setting, 1.0) if kind == "restart" else None
            fault = Fault(kind, start, start + length)
            asked = run(demand, Recommender(setting, 1.0), setting, first, (fault,), again).asked
            low, high = int(start / workload.tick_seconds) + 1, int((start + length) / workload.tick_seconds)
            if kind not in ("pending", "reset"):
                shrinks += int((np.diff(asked[low:high]) < 0).sum())
            after = slice(low, min(high + hour, day))
            cascades += int((asked[after] > CASCADE_RATIO * np.maximum(calm[after].max(), 2)).any())
    return shrinks, cascades, injected

"""Adds one thing that is not the fault: a harmless rollout, drifting traffic, a small anomaly, gaps in the data."""

from __future__ import annotations

import numpy as np

from benchmarks.faultlab.world import World, add, columns

CONFOUNDERS = ("none", "benign_rollout", "diurnal_drift", "second_anomaly", "missing_scrape", "counter_reset")


def confound(world: World, name: str) -> None:
    """Apply a confounder to a world, whatever its fault."""
    count, rng = len(world.instances), world.rng
    if name == "benign_rollout":
        moved = {int(i) for i in rng.choice(count, max(count // 3, 1), replace=False)}
        if world.versions == (["v1"], ["v1"]):
            world.versions = (["v1"] * count, ["v1b" if i in moved else "v1" for i in range(count)])
        world.changes.append(
            {
                "t": world.fault_from - float(rng.uniform(0, 240)),
                "kind": "release",
                "summary": "rolled out v1b",
                "model_version": "v1b",
            }
        )
    elif name == "diurnal_drift":
        more = rng.poisson(world.rate * world.horizon * 0.08)
        ts = np.sort(world.horizon * np.sqrt(rng.random(more)))
        add(world, columns(world, ts, rng))
    elif name == "second_anomaly":
        row = int(rng.integers(count))
        world.parameters[row, 1, :3] *= 1.15
        world.host.setdefault(world.hosts[row], {}).setdefault("cpu_pressure_ratio", 0.06)
    elif name == "missing_scrape":
        world.missing_scrapes = True
    elif name == "counter_reset":
        world.reset_at = world.fault_from + float(rng.uniform(60, 400))

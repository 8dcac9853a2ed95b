"""Measures the P99 error of latency bins after merging shards of many instances, on heavy-tailed latencies."""

from __future__ import annotations

import numpy as np

from analytics.slo import quantiles_of_bins
from signals.bins import LN_GAMMA

SHARDS, INSTANCES, PER_SHARD = 60, 10, 333


def merged_p99_error(seed: int) -> float:
    """Return |bins' P99 / exact P99 - 1| for 97 % around 0.25 s and 3 % around 4 s, each instance at its own speed."""
    rng = np.random.default_rng(seed)
    values, bins = [], []
    for instance in range(INSTANCES):
        speed = 0.7 + 0.06 * instance
        for _ in range(SHARDS):
            slow = rng.random(PER_SHARD) < 0.03
            latencies = np.where(
                slow, rng.lognormal(np.log(4), 0.8, PER_SHARD), rng.lognormal(np.log(0.25), 0.5, PER_SHARD)
            )
            values.append(latencies * speed)
            bins.append(np.ceil(np.log(latencies * speed) / LN_GAMMA).astype(np.int64))
    merged = np.concatenate([np.stack(np.unique(shard, return_counts=True)) for shard in bins], axis=1)
    (found,) = quantiles_of_bins(merged[0], merged[1], (0.99,))
    everything = np.sort(np.concatenate(values))
    exact = everything[int(np.ceil(0.99 * len(everything))) - 1]
    assert found.value is not None
    return float(abs(found.value / exact - 1))

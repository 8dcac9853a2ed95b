"""Whether requests waited for a seat or for KV memory: queue, running, KV usage; never why more work came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift

#: Requests wait in the steps whose queue is longer than this share of the longest; a last one in line is no crowd.
WAITING = 0.1
#: KV memory counts as full from here on: the rest is kept back or too small for the next request.
FULL = 0.9
#: What held in most of the waiting: a window drawn too wide has moments of another kind at its ends.
USUAL = 0.8


@dataclass(frozen=True, slots=True)
class Seats:
    """Gauges of the fullest instance: `pinned`, `idle`, `filled` = shares of waiting steps at the `cap`, below half of
    it, and with KV memory full; `kv_usual` = KV usage that most of them do not exceed."""

    instance: str
    queue: Shift
    running: Shift | None
    kv: Shift | None
    cap: float | None
    pinned: float | None
    cap_before: float | None
    idle: float | None
    filled: float | None
    kv_usual: float | None


def fullest(scene: Scene) -> Seats | None:
    """Return the seats of the instance with the longest queue during; None where no queue was sampled."""
    queues = scene.engine.by_source("queue_depth")
    if not queues:
        return None
    instance = max(queues, key=lambda name: (queues[name].peak, queues[name].during))
    panel = scene.engine
    row = panel.sources.index(instance)
    queue_peak = panel.shift("queue_peak", instance)
    kv = panel.shift("kv_usage_max_ratio", instance) or panel.shift("kv_usage_ratio", instance)
    running = panel.shift("running", instance)
    depth = panel.values["queue_depth"][row]
    waiting = (depth > WAITING * max(queues[instance].peak, 0.0)) & panel.during
    low, high = panel.values["running_low"][row], panel.values["running_peak"][row]
    mean = panel.values["running"][row]
    cap = pinned = cap_before = idle = filled = usual = None
    usage = panel.values["kv_peak"][row][waiting]
    if np.isfinite(usage).any():
        filled, usual = float(np.nanmean(usage >= FULL)), float(np.nanquantile(usage, USUAL))
    if waiting.any() and np.isfinite(high[waiting]).any():
        cap = float(np.nanquantile(high[waiting], USUAL))
        # A page between the end of one request and the admission of the next shows a seat that is not free.
        pinned = float(np.nanmean(mean[waiting] >= 0.9 * cap))
        idle = float(np.nanmean(low[waiting] <= 0.5 * cap))
    if np.isfinite(high[panel.before]).any():
        cap_before = float(np.nanmax(high[panel.before]))
    if usual is None and kv is not None:
        usual = kv.peak
    queue = queues[instance]
    if queue_peak is not None:
        queue = Shift("queue_depth", queue.before, queue.during, queue.spread, queue.low, queue_peak.peak)
    return Seats(
        instance, queue, running, _with_peak(scene, instance, kv, waiting), cap, pinned, cap_before, idle, filled, usual
    )


def seat_limit(scene: Scene, instance: str) -> float | None:
    """Return the configured number of seats of an instance, None where its configuration is not known."""
    lives = scene.observations.instances
    if not lives or "max_running" not in lives:
        return None
    found = [
        float(limit)
        for name, limit in zip(lives["instance"].tolist(), lives["max_running"].tolist(), strict=True)
        if name == instance and limit is not None and limit == limit
    ]
    return found[-1] if found else None


def _with_peak(
    scene: Scene, instance: str, kv: Shift | None, waiting: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> Shift | None:
    """Narrow the range of KV usage to the steps in which requests waited: that is when memory could be to blame."""
    panel = scene.engine
    row = panel.sources.index(instance)
    low, high = panel.values["kv_low"][row][waiting], panel.values["kv_peak"][row][waiting]
    if kv is None or not np.isfinite(high).any():
        return kv
    return Shift(kv.signal, kv.before, kv.during, kv.spread, float(np.nanmin(low)), float(np.nanmax(high)))

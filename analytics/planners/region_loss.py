"""What other regions can take when one is lost, hour by hour and with residency; never shifts traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "Loss",
    "Placement",
    "Region",
    "daily_requests",
    "deferrable_room",
    "load_by_hour",
    "loss_of",
    "place_deferrable",
]

Floats = npt.NDArray[np.float64]
HOURS = 24
_DAY = np.arange(HOURS)


@dataclass(frozen=True, slots=True)
class Region:
    """A region's capacity and daily peak (requests/s), its UTC peak hour, and who may leave its residency zone."""

    name: str
    capacity: float
    peak: float
    peak_utc_hour: float
    zone: float
    resident_ratio: float


@dataclass(frozen=True, slots=True)
class Loss:
    """After losing a region: the worst hour's load of the rest over capacity, and the least share of it served."""

    utilisation: float
    served_ratio: float
    worst_utc_hour: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Deferrable work spread into troughs: the highest load over capacity, where it runs, and how much moved."""

    level: float
    shares: dict[str, float]
    moved_ratio: float


def load_by_hour(region: Region, trough_ratio: float) -> Floats:
    """Return requests/s at each UTC hour: a cosine day from the peak down to `trough_ratio` of it."""
    swing = (1 + np.cos((_DAY - region.peak_utc_hour) / HOURS * 2 * np.pi)) / 2
    return np.asarray(region.peak * (trough_ratio + (1 - trough_ratio) * swing))


def loss_of(name: str, regions: Mapping[str, Region], trough_ratio: float, kept_ratio: float) -> Loss:
    """Return the worst hour when region `name` is gone.

    `kept_ratio` is the share of every load that stays when deferrable work is paused. Requests that must stay in the
    lost region's zone go to other regions of that zone or nowhere.
    """
    lost = regions[name]
    moving = load_by_hour(lost, trough_ratio) * kept_ratio
    load, near, far, capacity = moving.copy(), np.zeros(HOURS), np.zeros(HOURS), 0.0
    for other in regions.values():
        if other.name == name:
            continue
        theirs = load_by_hour(other, trough_ratio) * kept_ratio
        spare = np.maximum(0.0, other.capacity - theirs)
        near, far = (near + spare, far) if other.zone == lost.zone else (near, far + spare)
        load = load + theirs
        capacity += other.capacity
    bound = np.minimum(moving * lost.resident_ratio, near)
    free = np.minimum(moving * (1 - lost.resident_ratio), near - bound + far)
    served = np.where(moving > 0, (bound + free) / np.where(moving > 0, moving, 1), 1.0)
    utilisation = load / capacity if capacity > 0 else np.zeros(HOURS)
    worst = int(np.argmax(utilisation))
    return Loss(float(utilisation[worst]), float(served.min()), worst)


def daily_requests(regions: Mapping[str, Region], trough_ratio: float) -> float:
    """Return requests of all regions in a day."""
    return float(sum(load_by_hour(region, trough_ratio).sum() * 3600 for region in regions.values()))


def deferrable_room(regions: Mapping[str, Region], trough_ratio: float, kept_ratio: float, ceiling: float) -> float:
    """Return requests a day that fit under `ceiling` x capacity beside the interactive load, over all regions."""
    return float(
        sum(
            np.maximum(0.0, region.capacity * ceiling - load_by_hour(region, trough_ratio) * kept_ratio).sum() * 3600
            for region in regions.values()
        )
    )


def place_deferrable(regions: Mapping[str, Region], trough_ratio: float, deferrable_ratio: float) -> Placement:
    """Return where deferrable work runs when it fills the emptiest hours of all regions to one level."""
    if not regions:
        return Placement(0.0, {}, 0.0)
    loads = np.array([load_by_hour(region, trough_ratio) for region in regions.values()])
    capacity = np.array([[region.capacity] for region in regions.values()])
    kept = loads * (1 - deferrable_ratio)
    waiting = float(loads.sum()) * deferrable_ratio
    busiest = float((kept / capacity).max())
    low, high = 0.0, busiest + waiting / float(capacity.min())
    for _ in range(50):
        level = (low + high) / 2
        low, high = (level, high) if np.maximum(0, capacity * level - kept).sum() < waiting else (low, level)
    taken = np.maximum(0, capacity * high - kept).sum(axis=1)
    if waiting <= 0 or taken.sum() <= 0:
        return Placement(busiest, dict.fromkeys(regions, 0.0), 0.0)
    shares = taken / taken.sum()
    moved = np.maximum(0, shares - loads.sum(axis=1) / loads.sum()).sum()
    named = {name: float(share) for name, share in zip(regions, shares, strict=True)}
    return Placement(max(busiest, high), named, float(moved))

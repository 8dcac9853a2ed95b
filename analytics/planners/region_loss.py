"""What other regions can take when one is lost, hour by hour and with residency; never shifts traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, pi

__all__ = ["Loss", "Region", "daily_requests", "deferrable_room", "load_at", "loss_of"]

HOURS = 24


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
    """The worst hour after losing a region: load of the rest over capacity, and the share of its traffic served."""

    utilisation: float
    served_ratio: float
    worst_utc_hour: int


def load_at(region: Region, hour: int, trough_ratio: float) -> float:
    """Return requests/s at an UTC hour: a cosine day from the peak down to `trough_ratio` of it."""
    swing = (1 + cos((hour - region.peak_utc_hour) / HOURS * 2 * pi)) / 2
    return region.peak * (trough_ratio + (1 - trough_ratio) * swing)


def loss_of(name: str, regions: Mapping[str, Region], trough_ratio: float, kept_ratio: float) -> Loss:
    """Return the worst hour when region `name` is gone.

    `kept_ratio` is the share of every load that stays when deferrable work is paused. Requests that must stay in the
    lost region's zone go to other regions of that zone or nowhere.
    """
    lost = regions[name]
    worst = Loss(0.0, 1.0, 0)
    worst_served = 1.0
    for hour in range(HOURS):
        moving = load_at(lost, hour, trough_ratio) * kept_ratio
        others = [each for each in regions.values() if each.name != name]
        spare = {each.name: each.capacity - load_at(each, hour, trough_ratio) * kept_ratio for each in others}
        near = sum(max(0.0, spare[each.name]) for each in others if each.zone == lost.zone)
        far = sum(max(0.0, spare[each.name]) for each in others if each.zone != lost.zone)
        bound = moving * lost.resident_ratio
        bound_served = min(bound, near)
        free_served = min(moving - bound, far + near - bound_served)
        served = (bound_served + free_served) / moving if moving > 0 else 1.0
        capacity = sum(each.capacity for each in others)
        load = sum(load_at(each, hour, trough_ratio) for each in others) * kept_ratio + moving
        utilisation = load / capacity if capacity > 0 else 0.0
        worst_served = min(worst_served, served)
        if utilisation >= worst.utilisation:
            worst = Loss(utilisation, worst_served, hour)
    return Loss(worst.utilisation, worst_served, worst.worst_utc_hour)


def daily_requests(regions: Mapping[str, Region], trough_ratio: float) -> float:
    """Return requests of all regions in a day."""
    return sum(load_at(region, hour, trough_ratio) * 3600 for region in regions.values() for hour in range(HOURS))


def deferrable_room(regions: Mapping[str, Region], trough_ratio: float, kept_ratio: float, ceiling: float) -> float:
    """Return requests a day that fit under `ceiling` x capacity beside the interactive load, over all regions."""
    room = 0.0
    for region in regions.values():
        for hour in range(HOURS):
            room += max(0.0, region.capacity * ceiling - load_at(region, hour, trough_ratio) * kept_ratio) * 3600
    return room

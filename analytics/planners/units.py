"""Whole units of GPUs that fail together: spare units, smaller units, hours that can be lent; never schedules them."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

__all__ = ["lendable_unit_hours", "units_with_spare"]


def units_with_spare(gpus: float, unit_gpus: int, headroom_ratio: float, spare_units: int) -> int:
    """Return units that carry `gpus` with headroom, and still carry it with `spare_units` of them gone.

    >>> units_with_spare(216.2, 144, 0.2, 1), units_with_spare(187.5, 32, 0.2, 1)
    (3, 8)
    """
    return max(ceil(gpus * (1 + headroom_ratio) / unit_gpus), ceil(gpus / unit_gpus) + spare_units)


def lendable_unit_hours(
    gpus_at_peak: float, unit_gpus: int, headroom_ratio: float, spare_units: int, load_by_hour: Sequence[float]
) -> float:
    """Return unit-hours a day that are not needed, with `load_by_hour` a day in equal parts as shares of the peak."""
    deployed = units_with_spare(gpus_at_peak, unit_gpus, headroom_ratio, spare_units)
    hours = 24 / len(load_by_hour)
    idle = [
        deployed - units_with_spare(gpus_at_peak * load, unit_gpus, headroom_ratio, spare_units)
        for load in load_by_hour
    ]
    return hours * sum(max(0, each) for each in idle)

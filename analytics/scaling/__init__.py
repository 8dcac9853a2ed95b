"""How many instances are needed next, and why."""

from analytics.scaling.cold_start import cold_start
from analytics.scaling.decision import Decision, WhatIf
from analytics.scaling.frontier import Windows, capacity
from analytics.scaling.horizon import demand, with_curve
from analytics.scaling.pool import Pool
from analytics.scaling.recommender import decide, decide_all
from analytics.scaling.settings import Settings
from analytics.scaling.state import (
    Capacity,
    ColdStart,
    Demand,
    Event,
    Load,
    Memory,
    Pin,
    PoolState,
    Sight,
)

__all__ = [
    "Capacity",
    "ColdStart",
    "Decision",
    "Demand",
    "Event",
    "Load",
    "Memory",
    "Pin",
    "Pool",
    "PoolState",
    "Settings",
    "Sight",
    "WhatIf",
    "Windows",
    "capacity",
    "cold_start",
    "decide",
    "decide_all",
    "demand",
    "with_curve",
]

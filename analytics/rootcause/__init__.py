"""Why a latency spike happened: detection, decomposition, segments, causes, confidence; pure functions over arrays."""

from __future__ import annotations

from analytics.rootcause.causes import CAUSES
from analytics.rootcause.diagnosis import Diagnosis, diagnose
from analytics.rootcause.localise import localise
from analytics.rootcause.observations import Observations
from analytics.rootcause.scene import Scene
from analytics.rootcause.segment import Segment
from analytics.rootcause.spike import Change, Spike, compare, overdispersion, scan, spikes

__all__ = [
    "CAUSES",
    "Change",
    "Diagnosis",
    "Observations",
    "Scene",
    "Segment",
    "Spike",
    "compare",
    "diagnose",
    "localise",
    "overdispersion",
    "scan",
    "spikes",
]

"""Measures planners' inputs from column arrays, with intervals; pure, the columns come in as arguments."""

from analytics.planners.observed.intervals import CONFIDENCE
from analytics.planners.observed.measures import Observer
from analytics.planners.observed.registry import OBSERVERS
from analytics.planners.observed.telemetry import BLOCKS, Columns, Telemetry

__all__ = ["BLOCKS", "CONFIDENCE", "OBSERVERS", "Columns", "Observer", "Telemetry"]

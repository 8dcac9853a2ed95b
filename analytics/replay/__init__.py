"""A discrete-event model of continuous-batching instances."""

from analytics.replay.arrivals import Arrivals, arrivals
from analytics.replay.calibrate import Calibration, calibrate
from analytics.replay.engine import Engine
from analytics.replay.simulator import Reading, Simulator

__all__ = ["Arrivals", "Calibration", "Engine", "Reading", "Simulator", "arrivals", "calibrate"]

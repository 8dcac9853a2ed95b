"""The daily curve, the burst, and a band around both."""

from analytics.forecast.backtest import Backtest, backtest, rolling_origins
from analytics.forecast.coherence import coherent
from analytics.forecast.events import Event
from analytics.forecast.forecaster import Forecaster
from analytics.forecast.keeper import Keeper
from analytics.forecast.level_shift import LevelShift
from analytics.forecast.registry import FORECASTERS, default, get
from analytics.forecast.reserve import Reserve, burst_reserve, dispersion_of
from analytics.forecast.scores import Scores

__all__ = [
    "FORECASTERS",
    "Backtest",
    "Event",
    "Forecaster",
    "Keeper",
    "LevelShift",
    "Reserve",
    "Scores",
    "backtest",
    "burst_reserve",
    "coherent",
    "default",
    "dispersion_of",
    "get",
    "rolling_origins",
]

"""The daily curve, the burst, and a band around both."""

from analytics.forecast.forecaster import Forecaster
from analytics.forecast.registry import FORECASTERS, default, get
from analytics.forecast.scores import Scores

__all__ = ["FORECASTERS", "Forecaster", "Scores", "default", "get"]

"""The daily curve, the burst, and a band around both."""

from analytics.forecast.banded import Forecaster, Scores
from analytics.forecast.registry import FORECASTERS, default, get

__all__ = ["FORECASTERS", "Forecaster", "Scores", "default", "get"]

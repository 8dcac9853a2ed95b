"""Telemetry with known parameters, one case a planner, to see whether measured inputs hold them."""

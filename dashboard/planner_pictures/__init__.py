"""A picture for each planner: pure functions from a plan to a chart."""

from dashboard.planner_pictures.registry import PICTURES

__all__ = ["PICTURES"]

"""Scaling policies on one form: peers' from their descriptions, and ours."""

from analytics.scaling.policies.form import Entry, Observation, Policy, Setting
from analytics.scaling.policies.registry import POLICIES, get

__all__ = ["POLICIES", "Entry", "Observation", "Policy", "Setting", "get"]

"""Every forecaster by name; nothing is found by magic."""

from __future__ import annotations

from collections.abc import Callable

from analytics.forecast.banded import Forecaster
from analytics.forecast.hist_gradient import HIST_GRADIENT
from analytics.forecast.levels import LAST_DAY
from analytics.forecast.mean_of import MeanOf
from analytics.forecast.member import Member
from analytics.forecast.seasonal_naive import NAIVE_DAY, NAIVE_WEEK
from signals.errors import UnknownNameError

BLEND = MeanOf("blend", (NAIVE_DAY, LAST_DAY))

#: Name to point forecaster. To add one: copy the nearest sibling, add its line here; the contract suite does the rest.
MEMBERS: dict[str, Member] = {member.name: member for member in (NAIVE_DAY, NAIVE_WEEK, LAST_DAY, HIST_GRADIENT, BLEND)}


def _maker(member: Member) -> Callable[[int, str], Forecaster]:
    def make(step_seconds: int = 600, timezone: str = "UTC") -> Forecaster:
        return Forecaster(member, step_seconds, timezone)

    return make


#: Name to constructor (step_seconds, timezone) of a forecaster with bands.
FORECASTERS: dict[str, Callable[[int, str], Forecaster]] = {name: _maker(member) for name, member in MEMBERS.items()}


def get(name: str, step_seconds: int = 600, timezone: str = "UTC") -> Forecaster:
    """Return the forecaster called `name`."""
    if name not in FORECASTERS:
        raise UnknownNameError("forecaster", name, FORECASTERS)
    return FORECASTERS[name](step_seconds, timezone)


def default(step_seconds: int = 600, timezone: str = "UTC") -> Forecaster:
    """Return the forecaster that sloscope uses: the blend."""
    return get("blend", step_seconds, timezone)

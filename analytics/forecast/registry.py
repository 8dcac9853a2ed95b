"""Every forecaster by name; nothing is found by magic."""

from __future__ import annotations

from collections.abc import Sequence

from analytics.forecast.analog import (
    ANALOG_1H,
    ANALOG_3H,
    ANALOG_6H,
    ANALOG_ASTRAY,
    ANALOG_ASTRAY_NEAR,
    ANALOG_SLOW,
)
from analytics.forecast.blend import Blend
from analytics.forecast.direct_ridge import RIDGE_FREE, RIDGE_TIED
from analytics.forecast.events import Event
from analytics.forecast.forecaster import Forecaster
from analytics.forecast.fourier_ridge import FOURIER_RIDGE
from analytics.forecast.hist_gradient import HIST_GRADIENT
from analytics.forecast.levels import LAST, LAST_DAY, LAST_HOUR
from analytics.forecast.member import Member
from analytics.forecast.profile_level import (
    LAST_WEEK_LEVEL,
    PROFILE_FOLLOW,
    PROFILE_LEVEL,
    WEEK_STEP,
    WEEKDAY_STEP,
    WEEKS_PROFILE,
    YESTERDAY_STEP,
)
from analytics.forecast.seasonal_naive import NAIVE_DAY, NAIVE_WEEK
from signals.errors import UnknownNameError

#: The analogs were chosen on one half of the tuning series; the other half gained as much.
BLEND = Blend(
    "blend",
    (
        LAST, LAST_HOUR, LAST_DAY, NAIVE_DAY, NAIVE_WEEK, WEEKS_PROFILE,
        PROFILE_FOLLOW, YESTERDAY_STEP, WEEK_STEP, WEEKDAY_STEP, LAST_WEEK_LEVEL,
        ANALOG_6H, ANALOG_3H, ANALOG_1H, ANALOG_SLOW, ANALOG_ASTRAY, ANALOG_ASTRAY_NEAR,
        RIDGE_FREE, FOURIER_RIDGE,
    ),
)  # fmt: skip

#: Name to forecaster. To add one: copy the nearest sibling, add its line here; the contract suite does the rest.
FORECASTERS: dict[str, Member] = {
    member.name: member
    for member in (NAIVE_DAY, NAIVE_WEEK, PROFILE_LEVEL, ANALOG_6H, FOURIER_RIDGE, RIDGE_TIED, HIST_GRADIENT, BLEND)
}


def get(name: str, step_seconds: int = 600, timezone: str = "UTC", events: Sequence[Event] = ()) -> Forecaster:
    """Return the forecaster called `name`; only the blend follows level shifts."""
    if name not in FORECASTERS:
        raise UnknownNameError("forecaster", name, FORECASTERS)
    member = FORECASTERS[name]
    return Forecaster(member, step_seconds, timezone, follow_shifts=member is BLEND, events=events)


def default(step_seconds: int = 600, timezone: str = "UTC", events: Sequence[Event] = ()) -> Forecaster:
    """Return the forecaster that sloscope uses: the blend."""
    return get("blend", step_seconds, timezone, events)

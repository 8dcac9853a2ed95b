"""Burn rates and error budgets from counts of good and bad events; decides no alert and reads no clock.

Google SRE Workbook, chapter 5, "Alerting on SLOs".
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt


def error_budget_ratio(target: float) -> float:
    """Return the share of events that may be bad: 1 - target."""
    return 1.0 - target


def burn_rate(bad: float, total: float, target: float) -> float | None:
    """Return how many times faster than allowed the budget burns: bad / total / (1 - target).

    1 uses the whole budget in exactly one window. None without events: no traffic burns nothing and proves nothing.

    >>> round(burn_rate(144, 1000, 0.99), 9)
    14.4
    """
    return None if total <= 0 else bad / total / error_budget_ratio(target)


@dataclass(frozen=True, slots=True)
class Budget:
    """The error budget of one window, in events and as ratios of the whole budget (1 = all of it)."""

    allowed_events: float
    used_events: float
    used_ratio: float
    remaining_ratio: float
    seconds_to_exhaustion: float | None


def budget(
    good: float, bad: float, target: float, *, window_seconds: float, current_burn_rate: float | None = None
) -> Budget | None:
    """Return what the window's events used of their budget; None without events.

    `remaining_ratio` is negative once overspent. `seconds_to_exhaustion` = remaining x window / burn rate, the time
    until a budget that keeps burning at `current_burn_rate` is gone: 0 when it is gone, None (never) at burn rate 0
    or where the burn rate is unknown.
    """
    total = good + bad
    if total <= 0:
        return None
    allowed = error_budget_ratio(target) * total
    used = bad / allowed
    return Budget(
        allowed_events=allowed,
        used_events=bad,
        used_ratio=used,
        remaining_ratio=1.0 - used,
        seconds_to_exhaustion=seconds_to_exhaustion(1.0 - used, window_seconds, current_burn_rate),
    )


def seconds_to_exhaustion(
    remaining_ratio: float, window_seconds: float, current_burn_rate: float | None
) -> float | None:
    """Return how long the rest of a budget lasts at a burn rate; None when it does not run out.

    >>> seconds_to_exhaustion(0.5, 28 * 86400, 14.0) / 86400
    1.0
    """
    if remaining_ratio <= 0:
        return 0.0
    if not current_burn_rate:
        return None
    return remaining_ratio * window_seconds / current_burn_rate


def wilson_interval(bad: float, total: float, z: float = 1.96) -> tuple[float, float]:
    """Return the Wilson score interval of a ratio, (0, 1) without events.

    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
    """
    if total <= 0:
        return 0.0, 1.0
    share = bad / total
    scale = 1 + z * z / total
    middle = (share + z * z / (2 * total)) / scale
    half = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / scale
    return max(0.0, middle - half), min(1.0, middle + half)


def highest_burn_rate(target: float) -> float:
    """Return the burn rate of an outage in which every event is bad: 1 / (1 - target)."""
    share = error_budget_ratio(target)
    return inf if share <= 0 else 1 / share


def lowest_target(factor: float) -> float:
    """Return the target above which a burn rate of `factor` can be reached: 1 - 1 / factor.

    >>> round(lowest_target(14.4), 4)
    0.9306
    """
    return 1 - 1 / factor

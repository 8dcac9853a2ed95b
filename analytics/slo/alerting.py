"""Multi-window, multi-burn-rate rules: which exist, whether they can fire, whether they do; sends nothing.

Windows and budget shares: Google SRE Workbook, chapter 5; the one-day row is the one that Sloth adds to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from analytics.slo.burn import burn_rate, highest_burn_rate, lowest_target, wilson_interval

HOUR_SECONDS = 3_600
#: One-sided 95 %: how sure the bad ratio must be before a person is woken.
GUARD_Z = 1.6449
#: Share of the highest reachable burn rate to which an automatic rule is capped, so that a full outage fires it.
CAP_RATIO = 0.8


@dataclass(frozen=True, slots=True)
class BurnRule:
    """Fire when the burn rate over both windows is above `factor`; the short window ends the alert soon after."""

    severity: str
    long_seconds: int
    short_seconds: int
    factor: float


@dataclass(frozen=True, slots=True)
class WindowCounts:
    """Good and bad events of one look-back window."""

    good: float
    bad: float

    @property
    def total(self) -> float:
        return self.good + self.bad


@dataclass(frozen=True, slots=True)
class Firing:
    """One rule that fires, with the two burn rates that made it and the lower bound that the guard asked for."""

    rule: BurnRule
    long_burn_rate: float
    short_burn_rate: float
    sure_burn_rate: float


#: (severity, long window, short window, share of a 30-day budget gone when it fires) -> 14.4, 6, 3 and 1.
_WORKBOOK: tuple[tuple[str, int, int, float], ...] = (
    ("page", HOUR_SECONDS, HOUR_SECONDS // 12, 0.02),
    ("page", 6 * HOUR_SECONDS, HOUR_SECONDS // 2, 0.05),
    ("ticket", 24 * HOUR_SECONDS, 2 * HOUR_SECONDS, 0.10),
    ("ticket", 72 * HOUR_SECONDS, 6 * HOUR_SECONDS, 0.10),
)


def workbook_rules(window_seconds: float) -> tuple[BurnRule, ...]:
    """Return the workbook's rules for a window: factor = budget share x window / long window.

    Rules whose long window is not shorter than the objective's window are left out.

    >>> [round(rule.factor, 9) for rule in workbook_rules(30 * 86400)]
    [14.4, 6.0, 3.0, 1.0]
    """
    return tuple(
        BurnRule(severity, long, short, share * window_seconds / long)
        for severity, long, short, share in _WORKBOOK
        if long < window_seconds
    )


def automatic_rules(target: float, window_seconds: float) -> tuple[BurnRule, ...]:
    """Return the workbook's rules with each factor capped at 0.8 of what a full outage reaches at this target."""
    cap = CAP_RATIO * highest_burn_rate(target)
    return tuple(replace(rule, factor=min(rule.factor, cap)) for rule in workbook_rules(window_seconds))


def impossible(rule: BurnRule, target: float) -> str | None:
    """Return why a rule can never fire at a target, or None when it can.

    >>> impossible(BurnRule("page", 3600, 300, 14.4), 0.9)
    'burn rate 14.4 can never fire at target 90%: with every request bad it is 10; \
it needs a target above 93.06%, or a factor of at most 8'
    """
    highest = highest_burn_rate(target)
    if rule.factor < highest:
        return None
    return (
        f"burn rate {rule.factor:g} can never fire at target {target * 100:g}%: with every request bad it is "
        f"{highest:.4g}; it needs a target above {lowest_target(rule.factor) * 100:.2f}%, "
        f"or a factor of at most {CAP_RATIO * highest:.4g}"
    )


def firing(
    rules: tuple[BurnRule, ...], counts: Mapping[int, WindowCounts], target: float, *, min_events: int = 1, z: float = 0
) -> tuple[Firing, ...]:
    """Return the rules that fire on counts by window length in seconds.

    A rule fires when both burn rates are above its factor, the long window holds at least `min_events`, and the
    Wilson lower bound of the long burn rate at `z` is above it too (z = 0: no guard, the plain workbook rule).
    One bad request of 20 at 99.9 % burns at 50 and proves nothing.
    """
    found = []
    for rule in rules:
        long, short = counts.get(rule.long_seconds), counts.get(rule.short_seconds)
        if long is None or short is None or long.total < max(1, min_events):
            continue
        long_rate = burn_rate(long.bad, long.total, target)
        short_rate = burn_rate(short.bad, short.total, target)
        if long_rate is None or short_rate is None or long_rate <= rule.factor or short_rate <= rule.factor:
            continue
        sure = long_rate if z == 0 else wilson_interval(long.bad, long.total, z)[0] / (1 - target)
        if sure > rule.factor:
            found.append(Firing(rule, long_rate, short_rate, sure))
    return tuple(found)

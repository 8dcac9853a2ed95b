"""Says minute by minute which burn rules would have fired on counts of the past; evaluates as `firing` does now."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from analytics.slo.alerting import BurnRule

MINUTE_SECONDS = 60


def trailing_sums(counts: npt.NDArray[np.number], minutes: int) -> npt.NDArray[np.float64]:
    """Return for each minute the sum of the `minutes` counts that end with it; fewer where the data begins."""
    cumulative = np.concatenate(([0.0], np.cumsum(counts, dtype=np.float64)))
    ends = np.arange(1, len(counts) + 1)
    return cumulative[ends] - cumulative[np.maximum(0, ends - minutes)]


def firing_minutes(
    good: npt.NDArray[np.number],
    bad: npt.NDArray[np.number],
    rules: tuple[BurnRule, ...],
    target: float,
    *,
    min_events: int = 1,
    z: float = 0,
) -> npt.NDArray[np.bool_]:
    """Return (rules, minutes) of whether each rule fires at the end of each minute.

    good, bad: events per minute. Guards as in `analytics.slo.alerting.firing`.
    """
    share_allowed = 1 - target
    found = np.zeros((len(rules), len(good)), dtype=bool)
    for place, rule in enumerate(rules):
        fires = np.ones(len(good), dtype=bool)
        for seconds in (rule.long_seconds, rule.short_seconds):
            spoilt = trailing_sums(bad, seconds // MINUTE_SECONDS)
            total = trailing_sums(good, seconds // MINUTE_SECONDS) + spoilt
            counted = np.maximum(total, 1)
            share = spoilt / counted
            fires &= (total > 0) & (share / share_allowed > rule.factor)
            if seconds == rule.long_seconds:
                fires &= total >= min_events
                if z:
                    scale = 1 + z * z / counted
                    middle = (share + z * z / (2 * counted)) / scale
                    half = z * np.sqrt(share * (1 - share) / counted + z * z / (4 * counted * counted)) / scale
                    fires &= np.maximum(0.0, middle - half) / share_allowed > rule.factor
        found[place] = fires
    return found

"""Says whether a pool is seen well enough to act on; tells idle (no traffic) from blind (no data), never guesses."""

from __future__ import annotations

from datetime import datetime

from analytics.scaling.state import PoolState, known


def blindness(state: PoolState, now: datetime) -> tuple[str, ...]:
    """Return why the pool is blind, or nothing where it is seen."""
    sight, settings = state.sight, state.settings
    if sight.newest_good is None:
        return ("no good scrape of this pool is stored",)
    limit = max(settings.blind_after_seconds, settings.blind_after_intervals * sight.interval_seconds)
    age = (now - sight.newest_good).total_seconds()
    if age > limit:
        return (f"newest good scrape is {age:.0f} s old, limit {limit:.0f} s",)
    if age < -limit:
        return (f"newest good scrape lies {-age:.0f} s in the future: a clock is wrong",)
    if sight.expected > 0 and sight.reporting == 0:
        return (f"none of {sight.expected} instances reports ({sight.failed} failed, {sight.frozen} frozen)",)
    if not known(state.demand.now):
        return ("demand cannot be computed: no counter has two good readings", *sight.faults)
    return ()


def partial(state: PoolState) -> str | None:
    """Return why the pool may grow but not shrink (too few instances report), or None."""
    sight = state.sight
    if sight.expected and sight.reporting < state.settings.reporting_ratio * sight.expected:
        return f"only {sight.reporting} of {sight.expected} instances report: may grow, must not shrink"
    if sight.frozen:
        return f"{sight.frozen} of {sight.expected} pages are frozen: may grow, must not shrink"
    return sight.faults[0] if sight.faults else None

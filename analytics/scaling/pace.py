"""How fast a fleet may follow its need: no cascade up, slow and calm down; keeps no clock of its own."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil, floor

from analytics.scaling.state import Memory, PoolState, known


def calm_seconds(state: PoolState) -> float:
    """Return how long a need must have stayed low before instances go."""
    return max(state.settings.calm_seconds, state.settings.calm_cold_starts * state.cold_start.p95)


def remembered(state: PoolState, need: int, now: datetime) -> tuple[tuple[datetime, int], ...]:
    """Return the needs of the calm window that may still be its maximum (falling, newest last).

    `need` is what lasts: a backlog that is worked off needs nothing any more.
    """
    start = now - timedelta(seconds=calm_seconds(state))
    kept = [(at, value) for at, value in state.memory.needs if start <= at <= now]
    while kept and kept[-1][1] <= need:  # a smaller, older need can never be the maximum again
        kept.pop()
    return (*kept, (now, need))


def up(state: PoolState, need: int, wish: float) -> tuple[int, str | None]:
    """Return the need, cut to the largest step that one decision may take; starting instances count as supply.

    The step is wide, because what feeds on itself is bounded elsewhere: a backlog asks for a multiple of the demand at
    most, and what is starting is never asked for twice. Doubling at most per cold start was measured to prolong long
    misses, as nothing more may be asked for until the first instances serve.

    A wish that lies above the fleet by a few percent only waits while the demand's median fits: it takes of the
    head-room, never of what carries the demand itself, and spares a change at every breath of the demand.
    """
    settings, pool = state.settings, state.pool
    fits = not state.demand.q50 > state.current * state.capacity.value
    if fits and pool.min <= state.current and 0 < wish <= state.current * (1 + settings.step_up_least_ratio):
        return state.current, f"{wish:.2f} instances are within {settings.step_up_least_ratio:.0%} of what is there"
    step = max(ceil(settings.step_up_ratio * max(state.ready, 1)), settings.step_up_instances, pool.unit)
    ceiling = max(state.ready, state.current - state.starting, 1) + step
    ceiling = max(floor(ceiling / pool.unit) * pool.unit, state.current)
    if need > ceiling:
        return ceiling, f"one step goes to {ceiling} at most while {state.starting} are still starting"
    return need, None


def down(state: PoolState, memory: Memory, need: int, now: datetime) -> tuple[int, str | None]:
    """Return how far to shrink towards `need`, and the reason where it stays above.

    Instances that are still starting go first: whoever is asked for fewer stops those (Kubernetes does).
    """
    settings, pool, current = state.settings, state.pool, state.current
    window = calm_seconds(state)
    peak = max((value for _, value in memory.needs), default=need)
    watched = (now - memory.since).total_seconds() if memory.since else 0.0
    floor_ = max(need, peak, ceil(state.demand.stay / state.capacity.value) if known(state.demand.stay) else 0)
    if watched < window:
        return current, f"the need has not yet been watched for {window:.0f} s"
    if floor_ >= current:
        return current, f"up to {floor_} were needed within the last {window:.0f} s or will be again soon"
    slack = current - floor_
    if slack < max(pool.unit, ceil(settings.slack_ratio * current)):
        return current, f"a slack of {slack} is within the noise of this pool"
    if state.memory.changed_at is not None and state.memory.changed_by > 0:
        since = (now - state.memory.changed_at).total_seconds()
        settle = settings.settle_seconds + settings.settle_cold_starts * state.cold_start.p95
        if since < settle and slack < 0.3 * current:
            return current, f"grown {since:.0f} s ago: no reversal within {settle:.0f} s"
    step = max(pool.unit, floor(settings.step_down_ratio * current / pool.unit) * pool.unit)
    return max(floor_, current - step), None

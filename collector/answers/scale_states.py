"""Builds what a scaling decision may know of each pool from the store; decides nothing."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil, isfinite, nan

import numpy as np

from analytics.forecast import Event as Declared
from analytics.forecast import Keeper
from analytics.scaling import Capacity, ColdStart, Demand, Event, Load, Memory, Pin, Pool, PoolState, Sight
from analytics.scaling import capacity as learn_capacity
from analytics.scaling import cold_start as learn_cold_start
from analytics.scaling import demand as read_demand
from analytics.scaling.growth import lead_steps
from analytics.scaling.growths import Growths
from analytics.scaling.horizon import growth_of
from analytics.scaling.phases import median_phases
from analytics.scaling.settings import DEFAULT, Settings
from collector.answers.scale_curve import with_day_curve
from collector.answers.scale_lengths import with_length_mix
from collector.answers.scale_pages import Page, pages
from collector.answers.scale_roster import Roster, Rows
from collector.answers.scale_windows import windows_of
from collector.store.reader import Columns, Reader, as_datetime

DAY_SECONDS, WEEK_SECONDS = 86_400.0, 7 * 86_400.0
#: SQL hands over about this many (pool, step) cells at most.
CELLS = 1_000_000
#: Rate that one instance is assumed to serve until anything was seen: the seed's example (200 req/s on 11.9 instances).
PRIOR_REQUESTS_PER_SECOND = 16.8


@dataclass(frozen=True, slots=True)
class Wishes:
    """What people and other parts say about pools: by pool name, or for all."""

    pins: Mapping[str, Pin] = field(default_factory=dict)
    frozen: bool = False
    events: Sequence[Event] = ()
    #: Remaining error budget (0..1) and burn rate by model.
    budgets: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    causes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Instances that the orchestrator cannot place, with the seconds that it has tried, by pool name.
    unschedulable: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    #: Requests per second that one instance serves by a planner's roofline, by pool name.
    priors: Mapping[str, float] = field(default_factory=dict)
    objective_seconds: float = 2.0
    target: float = 0.99
    timezone: str = "UTC"
    #: Declared days that the curve of the day knows of, and where learnt curves are kept from one decision to the next.
    calendar: Sequence[Declared] = ()
    curves: Keeper | None = None
    #: Where the growth of each pool is kept from one decision to the next; None: it is learned each time.
    growths: Growths | None = None
    #: Whether each region must be able to take its share of the largest other region's load.
    survive_regions: bool = False
    settings: Settings = DEFAULT


def pool_states(reader: Reader, now: datetime, configured: Sequence[Pool], wishes: Wishes) -> list[PoolState]:
    """Return one state per pool, in the order of the configuration, else of model, role and region."""
    span = reader.columns("scale_span", now=now)
    if len(span["first"]) == 0 or np.isnat(span["first"][0]):
        return [_unseen(pool, wishes) for pool in configured]
    seen_since, count = as_datetime(span["first"][0]), max(int(span["pools"][0]), 1)
    roster = Roster(configured)
    step, since = _resolution(now, seen_since, count)
    day = now - timedelta(days=1)
    shown = pages(reader, now, day, roster)
    leads = {pool.name: _lead(shown.get(place, Page())) for place, pool in enumerate(roster.pools)}
    learning = _learning(leads, now, step, since, wishes)
    reach = since if learning is not None and not learning else _week(now, seen_since, count, since)
    series = reader.columns("scale_demand", since=reach, now=now, step_seconds=step)
    series_rows = roster.rows(series)
    windows = reader.columns(
        "scale_windows", since=since, now=now, step_seconds=step, objective_seconds=wishes.objective_seconds
    )
    window_rows = roster.rows(windows)
    tails = _tails(reader, now, step)
    calm = timedelta(seconds=max(wishes.settings.calm_seconds, 3600))
    memories = _memories(reader.columns("scale_history", since=now - calm, now=now))
    states = []
    for place, pool in enumerate(roster.pools):
        page = shown.get(place, Page())
        lead = leads.get(pool.name) or _lead(page)
        learns = learning is None or _key(pool.name, lead, step) in learning
        demand = _demand(series, series_rows.get(place), now, step, lead, pool.name, learns, wishes)
        rate, preemptions = _capacity(windows, window_rows.get(place), page, now, wishes, pool)
        states.append(
            PoolState(
                pool=pool,
                current=page.current,
                ready=page.ready,
                starting=page.starting,
                demand=demand,
                capacity=rate,
                cold_start=lead,
                load=_load(page, pool, tails, preemptions, wishes),
                sight=page.sight(now, wishes.settings),
                memory=memories.get(pool.name, Memory()),
                pin=wishes.pins.get(pool.name),
                frozen=wishes.frozen,
                events=wishes.events,
                causes=wishes.causes.get(pool.model, ()),
                budget_remaining=wishes.budgets.get(pool.model, (nan, nan))[0],
                burn_rate=wishes.budgets.get(pool.model, (nan, nan))[1],
                unschedulable=wishes.unschedulable.get(pool.name, (0, 0.0))[0],
                unschedulable_seconds=wishes.unschedulable.get(pool.name, (0, 0.0))[1],
                idle_seconds=_idle_seconds(series, series_rows.get(place), now),
                victims=page.victims(),
                settings=wishes.settings,
            )
        )
    if len(states) <= 20:
        states = [
            with_day_curve(reader, state, now, seen_since, wishes.timezone, wishes.calendar, wishes.curves)
            for state in states
        ]
        states = [
            with_length_mix(reader, state, now, since, step, _served(windows, window_rows.get(place)))
            for place, state in enumerate(states)
        ]
    return _partnered(_surviving(states) if wishes.survive_regions else states)


def _resolution(now: datetime, seen_since: datetime, count: int) -> tuple[float, datetime]:
    """Return the step in seconds and the start of the history that keeps the cells in bounds."""
    history = (now - seen_since).total_seconds()
    if history <= 3600:
        return 10.0, seen_since - timedelta(seconds=10)
    reach = min(history, DAY_SECONDS, CELLS / count * 60)
    return 60.0, now - timedelta(seconds=reach)


def _week(now: datetime, seen_since: datetime, count: int, since: datetime) -> datetime:
    """Return how far back growth is learned: a week, as far as it was seen and the cells stay in bounds."""
    reach = min((now - seen_since).total_seconds(), WEEK_SECONDS, CELLS / count * 60)
    return min(since, now - timedelta(seconds=reach))


def _lead(page: Page) -> ColdStart:
    return learn_cold_start(np.array(page.cold_starts, dtype=np.float64), median_phases(page.starts))


def _key(name: str, lead: ColdStart, step: float) -> tuple[str, int]:
    return name, lead_steps(lead.p95, step)


def _learning(
    leads: Mapping[str, ColdStart], now: datetime, step: float, since: datetime, wishes: Wishes
) -> set[Hashable] | None:
    """Return the keys whose growth is learned now and kept; None: everybody's, and nothing is kept.

    A history of less than a day is learned each time: it doubles within hours.
    """
    if wishes.growths is None or now - since < timedelta(days=1):
        return None
    return wishes.growths.stale([_key(name, lead, step) for name, lead in leads.items()], now)


def _unseen(pool: Pool, wishes: Wishes) -> PoolState:
    """A configured pool of which nothing is stored: blind by definition."""
    rate = Capacity(PRIOR_REQUESTS_PER_SECOND, nan, nan, "prior: assumed")
    return PoolState(
        pool, 0, 0, Demand(), rate, learn_cold_start(np.empty(0)), Load(), Sight(None, 0, 0), settings=wishes.settings
    )


def _served(windows: Columns, rows: Rows | None) -> set[str]:
    """Return the names of the instances that a pool's windows are of."""
    return set() if rows is None else {str(name) for name in windows["instance"][rows]}


def _demand(
    series: Columns,
    rows: Rows | None,
    now: datetime,
    step: float,
    lead: ColdStart,
    name: str,
    learns: bool,
    wishes: Wishes,
) -> Demand:
    if rows is None:
        return Demand()
    values = evenly(series["step"][rows], np.asarray(series["rate"][rows], dtype=np.float64), now, step)
    stay = max(wishes.settings.calm_seconds, 2 * lead.p95)
    if wishes.growths is None:
        return read_demand(values, step, lead.p95, stay)
    key = _key(name, lead, step)
    if learns:
        wishes.growths.keep(key, now, growth_of(values, step, lead.p95, stay))
    newest = values[-ceil(DAY_SECONDS / step) :]
    return read_demand(newest, step, lead.p95, stay, wishes.growths.get(key))


def evenly(
    steps: np.ndarray[tuple[int, ...], np.dtype[np.generic]],
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    now: datetime,
    step: float,
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Lay (step, value) pairs on an even grid from the first step to the last full one; missing steps are NaN."""
    places = (steps - steps.min()).astype("timedelta64[us]").astype(np.float64) / (step * 1e6)
    last = np.datetime64(now.replace(tzinfo=None), "us") - np.timedelta64(int(step * 1e6), "us")
    # The step that `now` falls into is open: its few seconds say little, unless it is all there is.
    full = steps <= last if (steps <= last).sum() >= 3 else np.ones(len(steps), dtype=bool)
    index = np.rint(places[full]).astype(np.int64)
    grid = np.full(int(index.max()) + 1 if len(index) else 0, np.nan)
    grid[index] = 0.0
    np.add.at(grid, index, values[full])
    return grid


def _capacity(
    windows: Columns, rows: Rows | None, page: Page, now: datetime, wishes: Wishes, pool: Pool
) -> tuple[Capacity, float]:
    prior = wishes.priors.get(pool.name)
    rate = PRIOR_REQUESTS_PER_SECOND if prior is None else prior
    origin = "assumed, nothing served yet" if prior is None else "roofline"
    if rows is None:
        return Capacity(rate, rate / 2, rate * 2, f"prior: {origin}"), nan
    found = learn_capacity(windows_of(windows, rows, page), wishes.target, rate, origin)
    recent = windows["step"][rows] >= np.datetime64((now - timedelta(minutes=2)).replace(tzinfo=None), "us")
    seconds = float(np.nansum(windows["seconds"][rows][recent])) or nan
    preempted = np.asarray(windows["preemptions"][rows][recent], dtype=np.float64)
    return found, float(np.nansum(preempted)) / seconds


def _tails(reader: Reader, now: datetime, step: float) -> dict[tuple[str, str | None], tuple[float, float, float]]:
    """Return (TTFT P90 now, TTFT P90 before, mean latency) by model and region."""
    recent = timedelta(seconds=max(120.0, 3 * step))
    found = reader.columns("scale_latency", since=now - 3 * recent, recent=now - recent, now=now)
    figures = zip(
        *(found[name].tolist() for name in ("ttft_seconds", "ttft_before_seconds", "latency_seconds")), strict=True
    )
    keys = zip(found["model"].tolist(), found["region"].tolist(), strict=True)
    return {key: (float(a), float(b), float(c)) for key, (a, b, c) in zip(keys, figures, strict=True)}


def _load(
    page: Page,
    pool: Pool,
    tails: Mapping[tuple[str, str | None], tuple[float, float, float]],
    preemptions: float,
    wishes: Wishes,
) -> Load:
    tail = tails.get((pool.model, pool.region)) or tails.get((pool.model, None)) or (nan, nan, nan)
    return Load(
        queue=page.queue,
        running=page.running,
        kv_usage_ratio=page.kv_usage_ratio,
        ttft_seconds=tail[0],
        ttft_before_seconds=tail[1],
        ttft_objective_seconds=wishes.objective_seconds,
        mean_latency_seconds=tail[2],
        preemptions_per_second=preemptions if isfinite(preemptions) else nan,
    )


def _idle_seconds(series: Columns, rows: Rows | None, now: datetime) -> float:
    if rows is None:
        return nan
    busy = rows[np.asarray(series["rate"][rows], dtype=np.float64) > 0]
    last = series["step"][busy[-1]] if len(busy) else series["step"][rows[0]]
    return (now - as_datetime(last)).total_seconds()


def _memories(history: Columns) -> dict[str, Memory]:
    """Rebuild what each pool's last decisions left behind (a collector that restarts forgets nothing)."""
    found: dict[str, Memory] = {}
    names = ("pool", "ts", "current", "proposed", "action", "need", "headroom_score")
    for pool, at, current, proposed, action, need, score in zip(*(history[name] for name in names), strict=True):
        moment = as_datetime(at)
        before = found.get(pool, Memory())
        if score == score:  # NaN is not equal to itself
            before = replace(before, score=float(score), scored_at=moment)
        if action not in ("up", "down", "hold"):  # watching starts again after blindness or a pin
            found[pool] = replace(before, needs=(), since=None)
            continue
        needs = before.needs if need != need else (*before.needs, (moment, ceil(need)))
        changed = proposed != current
        found[pool] = Memory(
            needs,
            before.since or moment,
            moment if changed else before.changed_at,
            int(proposed - current) if changed else before.changed_by,
            before.score,
            before.scored_at,
        )
    return found


def _surviving(states: list[PoolState]) -> list[PoolState]:
    """Give every pool the share of load that it takes over when the largest other region of its model is lost."""
    groups: dict[tuple[str, str], list[PoolState]] = {}
    for state in states:
        groups.setdefault((state.pool.model, state.pool.role), []).append(state)
    found = []
    for state in states:
        others = [one for one in groups[state.pool.model, state.pool.role] if one.pool.region != state.pool.region]
        lost = max((one.demand.now for one in others if isfinite(one.demand.now)), default=0.0)
        whole = state.demand.now + sum(one.demand.now for one in others if isfinite(one.demand.now))
        share = lost / (whole - lost) if isfinite(whole) and whole > lost else 0.0
        found.append(replace(state, lost_region_share=share))
    return found


def _partnered(states: list[PoolState]) -> list[PoolState]:
    counts = {state.pool.name: state.current for state in states}
    return [
        replace(state, partner_current=counts[state.pool.partner]) if state.pool.partner in counts else state
        for state in states
    ]

"""Passes the traffic of a fleet through gateway, router, caches and engines; returns when each thing happened."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from benchmarks.faultlab.foreign.batch import Asked, Served, run
from benchmarks.faultlab.foreign.fleet import Fleet

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
PATIENCE = 120.0
#: Seconds that an adapter takes to load, and that a token takes to come from the outer tier.
ADAPTER_SECONDS, TIER_SECONDS = 0.35, 1.2e-5
WIRE_SECONDS = 1.5e-5


@dataclass(frozen=True, slots=True)
class Day:
    """All that happened: one entry a request, and the pages of each instance."""

    route: Ints
    gateway: Floats
    arrival: Floats
    admitted: Floats
    first: Floats
    finished: Floats
    transfer: Floats
    drafted: Floats
    taken: Floats
    timed_out: npt.NDArray[np.bool_]
    failed: npt.NDArray[np.bool_]
    pages: dict[int, Floats]
    loading: dict[int, Floats]


def serve(fleet: Fleet) -> Day:
    """Run a fleet."""
    f, habits, rng = fleet, fleet.habits, fleet.rng
    traffic, n = f.traffic, len(f.traffic.t)
    level = f.levels(traffic.t)
    gateway = _gateway(f, level)
    arrival = traffic.t + gateway
    route = _route(f, arrival)
    held = traffic.held.copy()
    read = np.zeros(n)
    if f.reads_tier:
        traffic.tier = np.where(traffic.cached > 0, 0.5, 0.0)
        read = traffic.cached * traffic.tier * TIER_SECONDS * rng.lognormal(0, 0.4, n)
        read *= 1 + (f.tier_pace - 1) * level
        held += read
    wire = traffic.prompt * WIRE_SECONDS * rng.lognormal(0, 0.3, n) * (1 + (f.wire - 1) * level) if f.split else None
    admitted, first, finished, drafted, taken = (np.full(n, np.nan) for _ in range(5))
    pages: dict[int, Floats] = {}
    loading: dict[int, Floats] = {}
    for place in range(f.size):
        mine = np.flatnonzero(route == place)
        mine = mine[np.argsort(arrival[mine], kind="stable")]
        load = _adapters(traffic.adapter[mine], f.adapter_slots) * rng.lognormal(
            np.log(ADAPTER_SECONDS), 0.4, len(mine)
        )
        wait = _one_by_one(arrival[mine], load)
        loading[place] = np.stack([arrival[mine], arrival[mine] + wait])
        scrapes = np.arange(float(rng.uniform(0, habits.scrape_seconds)), habits.horizon, habits.scrape_seconds)
        pauses = np.array(sorted(f.pauses.get(place, []))).reshape(-1, 2)
        asked = Asked(
            arrival[mine], traffic.prompt[mine], traffic.cached[mine], np.maximum(traffic.output[mine], 1),
            held[mine] + wait, traffic.structured[mine], traffic.easy[mine],
        )  # fmt: skip
        served: Served = run(asked, f.table(place), pauses, scrapes, habits.horizon, PATIENCE)
        admitted[mine], first[mine], finished[mine] = served.admitted, served.first, served.finished
        drafted[mine], taken[mine] = served.drafted, served.taken
        pages[place] = served.pages
    timed_out = np.isnan(admitted) & (arrival + PATIENCE < habits.horizon)
    lost = np.array([f.gone.get(place, np.inf) for place in range(f.size)])[route]
    failed = (np.nan_to_num(finished, nan=np.inf) > lost) & (arrival < lost)
    transfer = wire if wire is not None else np.full(n, np.nan)
    return Day(
        route, gateway, arrival, admitted, first, finished, transfer, drafted, taken, timed_out, failed, pages, loading
    )


def _gateway(f: Fleet, level: Floats) -> Floats:
    """Queue before the gateway's workers; a lost region's requests and held ones wait longer still."""
    traffic = f.traffic
    workers = [0.0] * max(2, round(f.rate / 12))
    effort = (0.004 + traffic.prompt * 4e-7) * f.rng.lognormal(-0.1, 0.5, len(traffic.t))
    # Where more work is asked of the gateway its workers are only just enough, whatever their usual ease.
    grown = f.gateway_work
    if grown > 1:
        grown = max(grown, f.some(0.75, 1.05) * len(workers) / (f.rate * float(effort.mean())))
    effort = effort * (1 + (grown - 1) * level)
    spent = np.empty(len(traffic.t))
    for i, t in enumerate(traffic.t.tolist()):
        end = max(t, heapq.heappop(workers)) + effort[i]
        heapq.heappush(workers, end)
        spent[i] = end - t
    far = np.zeros(len(spent))
    if f.network:
        share = len(f.gone) / f.size
        far = np.where((level > 0) & (f.rng.random(len(spent)) < share), f.network, 0.0)
    return np.asarray(spent + far + f.gateway_held * level * f.rng.lognormal(0, 0.2, len(spent)), dtype=np.float64)


def _route(f: Fleet, arrival: Floats) -> Ints:
    order = np.argsort(arrival, kind="stable")
    born = np.array([f.born.get(place, -1.0) for place in range(f.size)])
    gone = np.array([f.gone.get(place, np.inf) for place in range(f.size)])
    traffic = f.traffic
    cost = (traffic.prompt - traffic.cached) / f.controls["prompt_pace"] + traffic.output * f.controls["base"] / 8
    policy = {"random": 0, "least": 1, "session": 2}[f.habits.router]
    drawn = f.rng.random((len(order), 2))
    route = np.empty(len(order), dtype=np.int64)
    route[order] = _choose(arrival[order], cost[order], traffic.session[order], drawn, born, gone, policy)
    for place, share in f.pull.items():
        taken = f.rng.random(len(order)) < share * f.levels(arrival)
        route[taken] = place
    return route


@numba.njit(cache=True)
def _choose(t, cost, session, drawn, born, gone, policy):  # type: ignore[no-untyped-def]
    count = len(born)
    load = np.zeros(count)
    route = np.empty(len(t), dtype=np.int64)
    last = 0.0
    for i in range(len(t)):
        load = np.maximum(load - (t[i] - last), 0.0)
        last = t[i]
        alive = np.flatnonzero((born <= t[i]) & (gone > t[i]))
        if len(alive) == 0:
            alive = np.arange(count)
        one = alive[int(drawn[i, 0] * len(alive))]
        if policy == 1:
            other = alive[int(drawn[i, 1] * len(alive))]
            if load[other] < load[one]:
                one = other
        elif policy == 2 and drawn[i, 1] < 0.8:
            one = alive[(session[i] * 2654435761 % 1000003) % len(alive)]
        load[one] += cost[i]
        route[i] = one
    return route


def _adapters(adapter: Ints, slots: int) -> Floats:
    """Say where an adapter was not loaded: the least recently used gives way."""
    held: dict[int, int] = {}
    missed = np.zeros(len(adapter))
    for i, one in enumerate(adapter.tolist()):
        if one < 0:
            continue
        if one not in held:
            missed[i] = 1.0 if i > slots else 0.0
            if len(held) >= slots:
                del held[min(held, key=lambda key: held[key])]
        held[one] = i
    return missed


def _one_by_one(arrival: Floats, load: Floats) -> Floats:
    """Return the seconds until each load is done, as one is made at a time."""
    wait, free = np.zeros(len(arrival)), 0.0
    for i in np.flatnonzero(load).tolist():
        free = max(free, float(arrival[i])) + float(load[i])
        wait[i] = free - arrival[i]
    return wait

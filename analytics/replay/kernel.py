"""The discrete-event loop over instances, arrivals and transfers, with routing; compiled, holds no policy.

Import this module only where a replay runs: it brings numba.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from analytics.replay.batching import advance_steps, end_of_step, interrupt, plan
from analytics.replay.columns import (
    AFFINITY,
    ARRIVED,
    DRAINING,
    IDLE,
    LEAST_BUSY,
    MIXED,
    NEVER,
    NEXT,
    OFF,
    READY,
    ROUND_ROBIN,
    SPLIT,
    STARTING,
    TRANSFERS,
    TURN,
    TWO_CHOICES,
    UNPLACED_HEAD,
    UNPLACED_TAIL,
    WAKE,
    Cluster,
    Requests,
)
from analytics.replay.heaps import sift, take_moved


@njit(cache=True)
def choose(r: Requests, c: Cluster, request: int, routing: int, decode: bool) -> int:
    """Return the instance that gets the request, or -1 where none accepts."""
    best, least, total, accepting = -1, 1 << 60, 0, 0
    count = len(c.status)
    turn = c.scalars[TURN]
    c.scalars[TURN] = turn + 1
    for k in range(count):
        i = (k + turn) % count if routing == ROUND_ROBIN else k
        if c.status[i] != READY or (decode and c.prefill_only[i]):
            continue
        if not decode and c.prefill_only[i] != c.scalars[SPLIT]:
            continue
        busy = c.decoding[i] + c.waiting[i] + c.ready_count[i] + (1 if c.partial[i] >= 0 else 0)
        accepting += 1
        total += busy
        if routing == ROUND_ROBIN:
            return i
        if busy < least:
            least, best = busy, i
    if best < 0 or routing == LEAST_BUSY:
        return best
    if routing == AFFINITY and r.key[request] >= 0:
        home = r.key[request] % count
        for k in range(count):
            i = (home + k) % count
            if c.status[i] == READY and not (decode and c.prefill_only[i]):
                busy = c.decoding[i] + c.waiting[i]
                return i if busy <= 2 + 1.25 * total / accepting else best
    if routing == TWO_CHOICES:
        mixed = (request * 2654435761) % (1 << 31)
        other = mixed % count
        if c.status[other] == READY and c.prefill_only[other] == c.prefill_only[best]:
            second = (mixed >> 8) % count
            if c.status[second] == READY and c.prefill_only[second] == c.prefill_only[best]:
                a = c.decoding[other] + c.waiting[other]
                return other if a <= c.decoding[second] + c.waiting[second] else second
    return best


@njit(cache=True)
def deliver(r: Requests, c: Cluster, request: int, routing: int, now: float, decode: bool) -> None:
    i = choose(r, c, request, routing, decode)
    r.following[request] = -1
    if i < 0:
        if c.scalars[UNPLACED_HEAD] < 0:
            c.scalars[UNPLACED_HEAD] = request
        else:
            r.following[c.scalars[UNPLACED_TAIL]] = request
        c.scalars[UNPLACED_TAIL] = request
        return
    r.instance[request] = i
    if decode:
        r.left[request] = 1  # nothing left to compute but the step that takes it in
    if c.waiting[i]:
        r.following[c.tail[i]] = request
    else:
        c.head[i] = request
    c.tail[i] = request
    c.waiting[i] += 1
    if c.kind[i] == IDLE:
        plan(r, c, i, now)
    else:
        interrupt(r, c, i, now)


@njit(cache=True)
def advance(r: Requests, c: Cluster, routing: int, until: float) -> None:
    """Run the cluster up to `until` seconds."""
    total = len(r.arrival)
    while True:
        arriving = r.arrival[c.scalars[NEXT]] if c.scalars[NEXT] < total else NEVER
        moving = c.moved_at[0] if c.scalars[TRANSFERS] else NEVER
        i = c.heap[0]
        happening = c.event[i]
        now = min(arriving, moving, happening)
        if now > until:
            return
        if happening == now:
            if c.kind[i] == WAKE:
                c.status[i] = READY
                c.kind[i] = IDLE
                waiting = c.scalars[UNPLACED_HEAD]
                c.scalars[UNPLACED_HEAD] = -1
                plan(r, c, i, now)
                while waiting >= 0:
                    following = r.following[waiting]
                    deliver(r, c, waiting, routing, now, r.first[waiting] == r.first[waiting])
                    waiting = following
                continue
            if c.kind[i] == MIXED:
                end_of_step(r, c, i, now)
            else:
                advance_steps(r, c, i, c.planned[i], now)
            plan(r, c, i, now)
        elif moving == now:
            deliver(r, c, take_moved(c), routing, now, True)
        else:
            request = c.scalars[NEXT]
            c.scalars[NEXT] = request + 1
            c.scalars[ARRIVED] += 1
            deliver(r, c, request, routing, now, False)


@njit(cache=True)
def wake(c: Cluster, i: int, at: float) -> None:
    """Ask for an instance: it serves from `at` on."""
    c.status[i] = STARTING
    c.kind[i] = WAKE
    c.event[i] = at
    c.stopped[i] = np.nan
    c.cache_tokens[i, :] = 0
    c.cache_key[i, :] = -1
    c.cached_total[i] = 0
    sift(c, c.place[i])


@njit(cache=True)
def drain(c: Cluster, i: int, now: float) -> None:
    """Give an instance back: it takes nothing new and stops when empty; one that still starts stops at once."""
    if c.status[i] == STARTING or (c.kind[i] == IDLE and c.waiting[i] == 0):
        c.status[i] = OFF
        c.kind[i] = IDLE
        c.event[i] = NEVER
        c.stopped[i] = now
        sift(c, c.place[i])
    else:
        c.status[i] = DRAINING

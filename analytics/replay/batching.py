"""One instance under continuous batching: admission, chunked prefill, decode runs, preemption; compiled.

Steps are simulated one by one only while prompts are computed. A run of pure decode steps has a closed form (each
step reads `n` more KV tokens than the one before), so it is one event, cut short when a request can join.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from analytics.replay.columns import (
    ATTENTION,
    BASE,
    BUDGET,
    CACHE,
    CAPACITY,
    DRAINING,
    GAIN,
    GOOD,
    IDLE,
    KV,
    MIXED,
    NEVER,
    OFF,
    OVERHEAD,
    PREEMPTED,
    PREFILL,
    RUN,
    SEATS,
    SEQUENCE,
    SEQUENCE_NUMBER,
    SERVED,
    SLOTS,
    Cluster,
    Requests,
)
from analytics.replay.heaps import hand_over, pop_due, push_due, sift


@njit(cache=True, inline="always")
def pace(c: Cluster, now: float) -> float:
    place = int(now / c.pace_step[0])
    return float(c.pace[min(max(place, 0), len(c.pace) - 1)])


@njit(cache=True)
def finish(r: Requests, c: Cluster, i: int, request: int, now: float) -> None:
    """Free a request's KV and remember its prompt in the prefix cache."""
    r.finished[request] = now + c.engine[OVERHEAD]
    c.kv[i] -= r.prompt[request] + r.output[request]
    key = r.key[request]
    if c.engine[CACHE] > 0 and key >= 0:
        slot = key % SLOTS
        tokens = r.prompt[request] + r.output[request]
        c.cached_total[i] += tokens - c.cache_tokens[i, slot]
        c.cache_key[i, slot] = key
        c.cache_tokens[i, slot] = tokens
        while c.cached_total[i] > c.engine[CACHE]:
            c.hand[i] = (c.hand[i] + 1) % SLOTS
            c.cached_total[i] -= c.cache_tokens[i, c.hand[i]]
            c.cache_tokens[i, c.hand[i]] = 0


@njit(cache=True)
def hit(r: Requests, c: Cluster, i: int, request: int) -> int:
    """Return the prompt tokens that need no computing: recorded hits, or what the cache of this instance holds."""
    hit = r.hit[request]
    key = r.key[request]
    if c.engine[CACHE] > 0 and key >= 0:
        slot = key % SLOTS
        if c.cache_key[i, slot] == key:
            hit = max(hit, min(r.shared[request], c.cache_tokens[i, slot]))
    return int(min(hit, r.prompt[request] - 1))


@njit(cache=True, inline="always")
def admissible(r: Requests, c: Cluster, i: int) -> bool:
    if c.waiting[i] == 0:
        return False
    request = c.head[i]
    taken = c.decoding[i] + (1 if c.partial[i] >= 0 else 0)
    return bool(taken < c.engine[SEATS] and c.kv[i] + r.prompt[request] + 1 <= c.engine[CAPACITY])


@njit(cache=True)
def preempt(r: Requests, c: Cluster, i: int) -> None:
    """Send the latest admitted sequence back to the head of the queue; what it generated is recomputed."""
    due, count = c.due[i], c.due_count[i]
    worst = 0
    for place in range(1, count):
        if r.order[due[place]] > r.order[due[worst]]:
            worst = place
    request = due[worst]
    remaining = r.until[request] - c.steps[i]
    # Rebuild the heap without it: preemption is rare and heaps are short.
    kept = due[:count].copy()
    c.due_count[i] = 0
    for place in range(count):
        if kept[place] != request:
            push_due(r, c, i, kept[place])
    c.decoding[i] -= 1
    left = max(1, int(remaining * c.engine[GAIN]))
    generated = r.output[request] - left
    c.kv[i] -= r.prompt[request] + generated
    r.left[request] = -left  # negative: it has had its first token; so many tokens are still owed
    r.following[request] = c.head[i] if c.waiting[i] else -1
    c.head[i] = request
    if c.waiting[i] == 0:
        c.tail[i] = request
    c.waiting[i] += 1
    c.scalars[PREEMPTED] += 1


@njit(cache=True)
def take_in(r: Requests, c: Cluster, i: int, now: float) -> int:
    """Admit the head of the queue where a seat and its KV are free; return the request, or -1."""
    if c.waiting[i] == 0 or c.decoding[i] + c.ready_count[i] >= c.engine[SEATS]:
        return -1
    request = c.head[i]
    again = r.left[request] < 0  # preempted: what it had generated is computed again
    whole = r.prompt[request] + (r.output[request] + r.left[request] if again else 0)
    if c.kv[i] + whole + 1 > c.engine[CAPACITY]:
        return -1
    c.head[i] = r.following[request]
    c.waiting[i] -= 1
    c.kv[i] += whole
    if not again:
        if r.admitted[request] != r.admitted[request]:
            r.admitted[request] = now
        if r.left[request] != 1:
            r.left[request] = whole - hit(r, c, i, request)
        r.hit[request] = whole - r.left[request]
    c.scalars[SEQUENCE_NUMBER] += 1
    r.order[request] = c.scalars[SEQUENCE_NUMBER]
    return int(request)


@njit(cache=True)
def plan_step(r: Requests, c: Cluster, i: int, now: float) -> None:
    """Fill one step: every decoding sequence gets a token, prompts share the rest of the budget in order."""
    engine, sequences = c.engine, c.decoding[i]
    budget = engine[BUDGET] - sequences
    tokens = attention = 0.0
    c.ready_count[i] = 0
    while budget > 0:
        request = c.partial[i]
        if request < 0:
            request = take_in(r, c, i, now)
            if request < 0:
                break
        again = r.left[request] < 0
        owed = r.prompt[request] + r.output[request] + r.left[request] if again else r.left[request]
        chunk = min(float(owed), budget)
        budget -= chunk
        tokens += chunk
        attention += chunk * r.prompt[request]
        if again or chunk >= owed:
            c.done[i, c.ready_count[i]] = request
            c.ready_count[i] += 1
            c.partial[i] = -1
        else:
            r.left[request] = int(owed - chunk)
            c.partial[i] = request
    c.kind[i] = MIXED
    seconds = engine[BASE] + engine[PREFILL] * tokens + engine[SEQUENCE] * sequences
    seconds += engine[KV] * c.kv[i] + engine[ATTENTION] * attention
    c.event[i] = now + seconds * pace(c, now)


@njit(cache=True)
def plan_run(r: Requests, c: Cluster, i: int, now: float) -> bool:
    """Plan decode steps up to the next sequence that ends; false where one had to be preempted first."""
    engine, sequences = c.engine, c.decoding[i]
    room = int((engine[CAPACITY] - c.kv[i]) / (sequences * engine[GAIN]))
    if room < 1 and sequences > 1:
        preempt(r, c, i)
        return False
    steps = r.until[c.due[i, 0]] - c.steps[i]
    c.kind[i] = RUN
    c.began[i] = now
    c.planned[i] = max(1, min(steps, max(room, 1)))
    c.event[i] = now + run_seconds(c, i, c.planned[i])
    if len(c.pace) > 1:  # a run ends where the pace changes
        boundary = (np.floor(now / c.pace_step[0]) + 1) * c.pace_step[0]
        if c.event[i] > boundary:
            c.planned[i] = steps_until(c, i, boundary)
            c.event[i] = now + run_seconds(c, i, c.planned[i])
    return True


@njit(cache=True)
def plan(r: Requests, c: Cluster, i: int, now: float) -> None:
    """Choose what instance i does next: a step with prefill, a run of decode steps, or nothing."""
    c.clock[i] = now
    c.ready_count[i] = 0
    while True:
        if c.partial[i] >= 0 or admissible(r, c, i):
            plan_step(r, c, i, now)
            break
        if c.decoding[i] == 0:
            if c.waiting[i]:  # a prompt that never fits: refuse it
                request = c.head[i]
                c.head[i] = r.following[request]
                c.waiting[i] -= 1
                r.finished[request] = np.inf
                continue
            c.kind[i] = IDLE
            c.event[i] = NEVER
            if c.status[i] == DRAINING:
                c.status[i] = OFF
                c.stopped[i] = now
            break
        if plan_run(r, c, i, now):
            break
    sift(c, c.place[i])


@njit(cache=True, inline="always")
def run_seconds(c: Cluster, i: int, steps: int) -> float:
    engine, n = c.engine, c.decoding[i]
    each = engine[BASE] + engine[SEQUENCE] * n + engine[KV] * c.kv[i]
    seconds = steps * each + engine[KV] * engine[GAIN] * n * steps * (steps - 1) / 2
    return float(seconds * pace(c, c.began[i]))


@njit(cache=True)
def steps_until(c: Cluster, i: int, until: float) -> int:
    """Return the fewest steps of the current run that end at or after a time."""
    low, high = 1, c.planned[i]
    while low < high:
        middle = (low + high) >> 1
        if c.began[i] + run_seconds(c, i, middle) >= until:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True)
def interrupt(r: Requests, c: Cluster, i: int, now: float) -> None:
    """End a decode run at the next step boundary, because a request can join."""
    if c.kind[i] != RUN or not admissible(r, c, i):
        return
    low = steps_until(c, i, now)
    if low < c.planned[i]:
        c.planned[i] = low
        c.event[i] = c.began[i] + run_seconds(c, i, low)
        sift(c, c.place[i])


@njit(cache=True)
def advance_steps(r: Requests, c: Cluster, i: int, steps: int, now: float) -> None:
    """Account for `steps` decode steps that end now, and let go what is finished."""
    c.steps[i] += steps
    c.kv[i] += c.decoding[i] * steps * c.engine[GAIN]
    while c.due_count[i] and r.until[c.due[i, 0]] <= c.steps[i]:
        request = pop_due(r, c, i)
        c.decoding[i] -= 1
        finish(r, c, i, request, now)
    if c.decoding[i] == 0 and c.partial[i] < 0 and c.ready_count[i] == 0:
        c.kv[i] = 0.0


@njit(cache=True)
def end_of_step(r: Requests, c: Cluster, i: int, now: float) -> None:
    """A step with prefill ends: decoding sequences moved on by one, computed prompts give their first token."""
    count = c.ready_count[i]
    advance_steps(r, c, i, 1, now)
    for place in range(count):
        request = c.done[i, place]
        again = r.left[request] < 0
        if not again and r.first[request] != r.first[request]:
            r.first[request] = now + c.engine[OVERHEAD]
            c.scalars[SERVED] += 1
            if r.first[request] - r.arrival[request] <= c.objective[0]:
                c.scalars[GOOD] += 1
        owed = -r.left[request] if again else r.output[request] - 1
        if c.prefill_only[i]:
            c.kv[i] -= r.prompt[request]
            hand_over(r, c, request, now)
            continue
        if owed <= 0:
            c.kv[i] += r.output[request]
            finish(r, c, i, request, now)
            continue
        steps = int(np.ceil(owed / c.engine[GAIN]))
        r.until[request] = c.steps[i] + steps
        c.kv[i] += 1 if not again else 0
        # Rounding of the last speculative step is settled when the request leaves.
        c.kv[i] -= steps * c.engine[GAIN] - owed
        c.decoding[i] += 1
        push_due(r, c, i, request)
    c.ready_count[i] = 0

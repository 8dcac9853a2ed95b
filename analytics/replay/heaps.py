"""Binary heaps inside the columns of a replay: next event, next sequence to finish, next transfer; compiled."""

from __future__ import annotations

from numba import njit

from analytics.replay.columns import PER_TOKEN, TRANSFER, TRANSFERS, Cluster, Requests


@njit(cache=True, inline="always")
def sift(c: Cluster, position: int) -> None:
    """Restore the heap of instances by event time around one position."""
    heap, place, event, size = c.heap, c.place, c.event, c.size[0]
    item = heap[position]
    while position > 0:
        parent = (position - 1) >> 1
        if event[heap[parent]] <= event[item]:
            break
        heap[position] = heap[parent]
        place[heap[position]] = position
        position = parent
    while True:
        child = 2 * position + 1
        if child >= size:
            break
        if child + 1 < size and event[heap[child + 1]] < event[heap[child]]:
            child += 1
        if event[item] <= event[heap[child]]:
            break
        heap[position] = heap[child]
        place[heap[position]] = position
        position = child
    heap[position] = item
    place[item] = position


@njit(cache=True, inline="always")
def push_due(r: Requests, c: Cluster, i: int, request: int) -> None:
    due, count = c.due[i], c.due_count[i]
    c.due_count[i] = count + 1
    while count > 0:
        parent = (count - 1) >> 1
        if r.until[due[parent]] <= r.until[request]:
            break
        due[count] = due[parent]
        count = parent
    due[count] = request


@njit(cache=True, inline="always")
def pop_due(r: Requests, c: Cluster, i: int) -> int:
    due = c.due[i]
    top = due[0]
    count = c.due_count[i] - 1
    c.due_count[i] = count
    if count:
        item, position = due[count], 0
        while True:
            child = 2 * position + 1
            if child >= count:
                break
            if child + 1 < count and r.until[due[child + 1]] < r.until[due[child]]:
                child += 1
            if r.until[item] <= r.until[due[child]]:
                break
            due[position] = due[child]
            position = child
        due[position] = item
    return int(top)


@njit(cache=True)
def hand_over(r: Requests, c: Cluster, request: int, now: float) -> None:
    """Queue a computed prompt for a decode instance once its KV has been moved."""
    at = now + c.engine[TRANSFER] + c.engine[PER_TOKEN] * r.prompt[request]
    count = c.scalars[TRANSFERS]
    c.scalars[TRANSFERS] = count + 1
    position = count
    while position > 0:
        parent = (position - 1) >> 1
        if c.moved_at[parent] <= at:
            break
        c.moved_at[position] = c.moved_at[parent]
        c.moved[position] = c.moved[parent]
        position = parent
    c.moved_at[position] = at
    c.moved[position] = request


@njit(cache=True)
def take_moved(c: Cluster) -> int:
    top = c.moved[0]
    count = c.scalars[TRANSFERS] - 1
    c.scalars[TRANSFERS] = count
    at, item, position = c.moved_at[count], c.moved[count], 0
    while True:
        child = 2 * position + 1
        if child >= count:
            break
        if child + 1 < count and c.moved_at[child + 1] < c.moved_at[child]:
            child += 1
        if at <= c.moved_at[child]:
            break
        c.moved_at[position] = c.moved_at[child]
        c.moved[position] = c.moved[child]
        position = child
    c.moved_at[position] = at
    c.moved[position] = item
    return int(top)

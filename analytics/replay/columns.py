"""The columns of a compiled replay: what arrives, the instances, the places of parameters; computes nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

OFF, STARTING, READY, DRAINING = 0, 1, 2, 3
IDLE, MIXED, RUN, WAKE = 0, 1, 2, 3
NEVER = 1e300
ROUND_ROBIN, LEAST_BUSY, TWO_CHOICES, AFFINITY = 0, 1, 2, 3
(BASE, PREFILL, SEQUENCE, KV, ATTENTION, BUDGET, SEATS, CAPACITY, GAIN, OVERHEAD, CACHE, TRANSFER, PER_TOKEN) = range(
    13
)
(NEXT, SEQUENCE_NUMBER, TURN, ARRIVED, SERVED, TRANSFERS, GOOD, PREEMPTED, UNPLACED_HEAD, UNPLACED_TAIL, SPLIT) = range(
    11
)
SLOTS = 4096


class Requests(NamedTuple):
    """Columns of the requests: what arrives, then what happened (NaN where it has not)."""

    arrival: Floats
    prompt: Ints
    output: Ints
    hit: Ints
    key: Ints
    shared: Ints
    admitted: Floats
    first: Floats
    finished: Floats
    instance: Ints
    left: Ints
    until: Ints
    order: Ints
    following: Ints


class Cluster(NamedTuple):
    """Rows are instances; `seat`, `due`, `done` and the cache are two-dimensional."""

    engine: Floats
    status: Ints
    prefill_only: Ints
    clock: Floats
    kind: Ints
    event: Floats
    began: Floats
    planned: Ints
    steps: Ints
    decoding: Ints
    kv: Floats
    head: Ints
    tail: Ints
    waiting: Ints
    partial: Ints
    done: Ints
    ready_count: Ints
    due: Ints
    due_count: Ints
    cache_key: Ints
    cache_tokens: Ints
    cached_total: Ints
    hand: Ints
    heap: Ints
    place: Ints
    size: Ints
    stopped: Floats
    scalars: Ints
    moved_at: Floats
    moved: Ints
    objective: Floats
    #: Factors on every step's time, one per `pace_step[0]` seconds; the last one holds on.
    pace: Floats
    pace_step: Floats

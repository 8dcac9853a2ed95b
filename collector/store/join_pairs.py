"""Pairs engine requests with the gateway requests that they served: by response id, else alone in the same trace.

An engine request serves one gateway request; a gateway request that was tried several times has several, of which the
one that answered is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from collector.store.join_sides import Side
from collector.store.keys import Keys

#: Engines begin a request within six hours of the gateway, by either clock; a response id older than that is reused.
REACH_NS = 21_600_000_000_000
#: What sorts after every time.
_LAST = np.iinfo(np.int64).max
Places: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Rows of the two sides that are one request, -1 where a side has none; each gateway request is there once."""

    gateway: Places
    engine: Places
    #: Engine requests that the gateway request led to.
    tries: npt.NDArray[np.int64]


def paired(gateways: Side, engines: Side) -> Pairs:
    """Pair what belongs together; what is alone stays alone."""
    by_match = _same(engines.match, gateways.match)
    distance = np.abs(engines.start_ns[by_match[0]] - gateways.start_ns[by_match[1]])
    near = distance < REACH_NS
    engine, gateway = by_match[0][near], by_match[1][near]
    rank = np.zeros(len(engine), np.int64)
    lone, first, counts = np.unique(gateways.trace, return_index=True, return_counts=True)
    alone = (counts == 1) & (lone != 0)
    if alone.any():
        unmatched = np.ones(len(engines), bool)
        unmatched[engine] = False
        rest = np.flatnonzero(unmatched)
        found = _same(engines.trace[rest], lone[alone])
        engine = np.concatenate([engine, rest[found[0]]])
        gateway = np.concatenate([gateway, first[alone][found[1]]])
        rank = np.concatenate([rank, np.ones(len(found[0]), np.int64)])
    if len(engine) and np.bincount(engine).max() > 1:
        distance = np.abs(engines.start_ns[engine] - gateways.start_ns[gateway])
        order = np.lexsort((gateways.key[gateway], distance, rank, engine))
        order = order[_starts(engine[order])]
        engine, gateway, rank = engine[order], gateway[order], rank[order]
    return _served(gateways, engines, engine, gateway, rank)


def _served(gateways: Side, engines: Side, engine: Places, gateway: Places, rank: npt.NDArray[np.int64]) -> Pairs:
    """Choose for each gateway request the engine request that answered: without error, the last to end or begin."""
    tries = np.bincount(gateway, minlength=len(gateways))
    alone = np.ones(len(engines), bool)
    alone[engine] = False
    if len(gateway) and tries.max() > 1:
        last = (engines.key[engine], -engines.start_ns[engine], -_ends(engines)[engine])
        order = np.lexsort((*last, _failed(engines)[engine], rank, gateway))
        order = order[_starts(gateway[order])]
        engine, gateway = engine[order], gateway[order]
    server = np.full(len(gateways), -1, np.intp)
    server[gateway] = engine
    rest = np.flatnonzero(alone)
    return Pairs(
        np.concatenate([np.arange(len(gateways)), np.full(len(rest), -1, np.intp)]),
        np.concatenate([server, rest]),
        np.concatenate([tries, np.zeros(len(rest), np.int64)]),
    )


def _same(left: Keys, right: Keys) -> tuple[Places, Places]:
    """Return the places of all pairs of equal keys; 0 equals nothing."""
    order = np.argsort(right, kind="stable")
    ordered = right[order]
    low = np.searchsorted(ordered, left, "left")
    place = np.minimum(low, max(0, len(ordered) - 1))
    hit = (ordered[place] == left) & (left != 0) if len(ordered) else np.zeros(len(left), bool)
    if len(ordered) < 2 or not (ordered[1:] == ordered[:-1]).any():
        return np.flatnonzero(hit), order[place[hit]]
    counts = np.where(hit, np.searchsorted(ordered, left, "right") - low, 0)
    found = np.repeat(np.arange(len(left)), counts)
    within = np.arange(len(found)) - np.repeat(np.cumsum(counts) - counts, counts)
    return found, order[np.repeat(low, counts) + within]


def _starts(ordered: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Return where a new value begins."""
    return np.concatenate([[True], ordered[1:] != ordered[:-1]])


def _ends(engines: Side) -> npt.NDArray[np.int64]:
    if "end_ns" not in engines.table.column_names:
        return np.full(len(engines), -_LAST, np.int64)
    found: npt.NDArray[np.int64] = pc.fill_null(engines.table["end_ns"], -_LAST).to_numpy()
    return found


def _failed(engines: Side) -> npt.NDArray[np.int64]:
    """Return 0 for ok, 1 for everything else, 2 where it is not said."""
    if "status" not in engines.table.column_names:
        return np.full(len(engines), 2, np.int64)
    failed = pc.fill_null(pc.cast(pc.not_equal(engines.table["status"], "ok"), "int64"), 2)
    found: npt.NDArray[np.int64] = failed.to_numpy()
    return found

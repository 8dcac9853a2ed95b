"""Turns the last readings of a target into bytes and back, for the spool; never interprets them.

The names of the series hardly ever change, so they are written once per layout; a scrape writes only its numbers.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from array import array
from dataclasses import dataclass
from functools import lru_cache
from math import isnan, nan

from signals.readings import State

Group = tuple[str | None, str | None]
#: Groups with their series, then the series that are absent for now.
Layout = tuple[tuple[tuple[Group, tuple[str, ...]], ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Memory:
    """What must survive a restart: the last readings of a target, when they were taken and whose they were."""

    state: State
    good_ns: int
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """A memory as bytes: `keys` (named by its digest `name`) says what the numbers in `body` are."""

    name: str
    keys: bytes
    body: bytes
    good_ns: int


def freeze(memory: Memory) -> Kept:
    """Return the bytes of a memory."""
    state = memory.state
    layout = (tuple((group, keys) for group, (keys, _) in state.groups.items()), tuple(state.absent))
    name, keys = _named(layout)
    numbers = array("d", [nan if state.process_start is None else state.process_start, float(state.still)])
    for _, values in state.groups.values():
        numbers.extend(values)
    numbers.extend(state.absent.values())
    return Kept(name, keys, numbers.tobytes(), memory.good_ns)


def thaw(kept: Kept) -> Memory | None:
    """Return the memory, or None when the bytes do not fit together."""
    numbers = array("d")
    try:
        numbers.frombytes(kept.body)
        layout = json.loads(zlib.decompress(kept.keys))
        groups: dict[Group, tuple[tuple[str, ...], list[float]]] = {}
        place = 2
        for (model, role), keys in layout[0]:
            groups[(model, role)] = (tuple(keys), list(numbers[place : place + len(keys)]))
            place += len(keys)
        absent = dict(zip(layout[1], numbers[place:], strict=True))
        start, still = numbers[0], int(numbers[1])
    except (ValueError, IndexError, TypeError, zlib.error):
        return None
    state = State(None if isnan(start) else start, groups, absent, still)
    return Memory(state, kept.good_ns, tuple(groups))


@lru_cache(maxsize=512)
def _named(layout: Layout) -> tuple[str, bytes]:
    keys = zlib.compress(json.dumps(layout).encode(), 6)
    return hashlib.blake2b(keys, digest_size=16).hexdigest(), keys

"""Spoils objective documents in their text and in their structure; counts documents that raise instead of failing."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, cast

import yaml

from analytics.slo.openslo import read_documents

_BITS: tuple[bytes, ...] = (
    b":", b"-", b"{", b"}", b"[", b"]", b"&a ", b"*a", b"|", b">", b"\x00", b"\xff", b"\t", b"!!int ", b".nan",
    b"1e999", b"~", b'"', b"'", b"? ", b"<<: ", b"- - - ", b"9" * 40, b"2026-99-99", b"#", b"%", b"@",
)  # fmt: skip
_VALUES: tuple[object, ...] = (
    None, True, 3, -1, 1e308, float("nan"), float("inf"), "", " ", "x" * 300, [], {}, [[]], {"a": 1}, [None],
    {"a": None}, "28d", "0d", "1h/5m", "2026-01-01", "2026-01-01T00:00:00Z", "-5", "é", 0, [1, 2], {"metric": {}},
)  # fmt: skip


def tracebacks(folder: Path, count: int, seed: int = 7) -> int:
    """Return how many of `count` spoilt documents raise anything at all; half are spoilt as text, half as structure."""
    rng = random.Random(seed)
    texts = [path.read_bytes() for path in sorted(folder.rglob("*.yaml"))]
    trees = [tree for text in texts for tree in _trees(text)]
    raised = 0
    for number in range(count):
        text = _spoilt_text(rng, rng.choice(texts)) if number % 2 else _spoilt_tree(rng, rng.choice(trees))
        try:
            for fault in read_documents([("fuzzed.yaml", text)]).faults:
                str(fault)
        except Exception:
            raised += 1
    return raised


def _trees(text: bytes) -> Iterator[object]:
    yield from (tree for tree in yaml.safe_load_all(text) if isinstance(tree, dict))


def _spoilt_text(rng: random.Random, text: bytes) -> bytes:
    found = bytearray(text)
    for _ in range(rng.randint(1, 8)):
        place, choice = rng.randrange(len(found) + 1), rng.random()
        if choice < 0.5:
            found[place:place] = rng.choice(_BITS)
        elif choice < 0.8:
            del found[place : place + rng.randint(1, 20)]
        elif place < len(found):
            found[place] = rng.randrange(256)
    return bytes(found)


def _spoilt_tree(rng: random.Random, tree: object) -> bytes:
    found = copy.deepcopy(tree)
    for _ in range(rng.randint(1, 3)):
        places = list(_places(found))
        if not places:
            break
        holder, key = rng.choice(places)
        if rng.random() < 0.7:
            holder[key] = copy.deepcopy(rng.choice(_VALUES))
        else:
            del holder[key]
    return yaml.safe_dump(found).encode()


class _Holder(Protocol):
    """A mapping or a list of the document."""

    def __setitem__(self, key: object, value: object, /) -> None: ...
    def __delitem__(self, key: object, /) -> None: ...


def _places(tree: object) -> Iterator[tuple[_Holder, object]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield cast("_Holder", tree), key
            yield from _places(value)
    elif isinstance(tree, list):
        for key, value in enumerate(tree):
            yield cast("_Holder", tree), key
            yield from _places(value)

"""Keys of strings are stable, distinct and 0 only for no string."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from collector.store.halves import packed, sides_of, unpacked
from collector.store.keys import among, text_keys
from tests.unit.collector.store.test_store import engine_half, gateway_half

STORED = [7_855_322_947_590_278_614, 8_355_839_842_195_902_211, 15_594_453_089_555_024_368]


def test_a_key_is_the_same_wherever_the_string_stands() -> None:
    words = ["", "a", "b", "12345678", "123456789", "ünïcödé", "a" * 100]
    keys = text_keys(pa.array(words), len(words))
    assert len(set(keys.tolist())) == len(words)
    assert 0 not in keys
    again = text_keys(pa.chunked_array([["zz", *words][:4], ["zz", *words][4:]]).slice(1), len(words))
    assert again.tolist() == keys.tolist()
    assert [text_keys(pa.array([word]), 1)[0] for word in words] == keys.tolist()


def test_keys_are_what_earlier_versions_stored() -> None:
    stored = text_keys(pa.array(["", "cmpl-1", "4bf92f3577b34da6a3ce929d0e0e4736"]), 3).tolist()
    assert stored == STORED


def test_no_string_has_no_key() -> None:
    assert text_keys(pa.array(["a", None, "b"]), 3)[1] == 0
    assert text_keys(None, 2).tolist() == [0, 0]
    assert text_keys(pa.nulls(2, pa.string()), 2).tolist() == [0, 0]
    assert not among(np.zeros(2, np.uint64), np.zeros(1, np.uint64)).any()


def test_many_ids_have_as_many_keys() -> None:
    ids = pa.array([f"{number:032x}" for number in range(200_000)] + [f"cmpl-{number:x}" for number in range(200_000)])
    keys = text_keys(ids, len(ids))
    assert len(np.unique(keys)) == len(ids)
    ones = np.unpackbits(keys.view(np.uint8)).mean()
    assert ones == pytest.approx(0.5, abs=0.001)


@pytest.mark.parametrize(
    "found",
    [
        [engine_half(1)],
        [gateway_half(n, match=None if n % 2 else f"m{n}", prefix_hashes=None) for n in range(300)],
        [engine_half(n, side=("engine", "log")[n % 2], prefix_hashes=(n, n + 1) if n == 7 else None) for n in range(9)],
    ],
)  # fmt: skip
def test_a_body_holds_every_field_that_a_half_has(found: list[object]) -> None:
    sides = sides_of([found[:5], found[5:]])  # type: ignore[list-item]  # of halves
    columns = sides.gateways if len(sides.gateways) else sides.engines
    body = unpacked(packed(columns.body))
    for name in body.column_names:
        if name != "name":
            given = [getattr(half, name) for half in found]
            assert body[name].to_pylist() == [list(value) if isinstance(value, tuple) else value for value in given]
    named = body["name"].to_pylist() if "name" in body.column_names else [None] * len(found)
    for half, name in zip(found, named, strict=True):
        own = half.key if half.side == "gateway" else half.part  # type: ignore[attr-defined]
        assert name == (None if half.match or half.request_id else own)  # type: ignore[attr-defined]

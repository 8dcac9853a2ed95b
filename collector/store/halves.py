"""Request halves as columns: the keys by which they find each other, and a body of everything else they know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from collector.store.half_fields import FIELD_TYPES, HalfFields
from collector.store.keys import Keys, text_keys
from signals.spans import RequestHalf

GATEWAY, ENGINE, LOG = 0, 1, 2
_KEYED = ("key", "part", "alias")
#: Halves that are read together, so that they stay in the processor's cache.
_BLOCK = 256
#: zstd's fastest level: the bodies are written once and seldom read.
_CODEC = pa.Codec("zstd", compression_level=1)


#: What a body may hold; `name` is what the sender calls the request, where nothing else names it.
BODY_TYPES = {**{name: kind for name, kind in FIELD_TYPES.items() if name not in _KEYED}, "name": pa.string()}


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """N halves in the order of `sequence`; a key of 0 means that the half has none.

    `body` has N rows and those columns of BODY_TYPES that hold anything.
    """

    sequence: npt.NDArray[np.int64]
    side: npt.NDArray[np.uint8]
    key: Keys
    part: Keys
    match: Keys
    trace: Keys
    alias: Keys
    start_ns: npt.NDArray[np.int64]
    body: pa.Table

    def __len__(self) -> int:
        return len(self.sequence)

    def take(self, rows: npt.NDArray[np.intp]) -> Halves:
        """Return the halves at these places."""
        return Halves(
            self.sequence[rows], self.side[rows], self.key[rows], self.part[rows], self.match[rows], self.trace[rows],
            self.alias[rows], self.start_ns[rows], self.body.take(pa.array(rows)),
        )  # fmt: skip

    def keep(self, mask: npt.NDArray[np.bool_]) -> Halves:
        """Return the halves that the mask names."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def numbered(self, first: int) -> Halves:
        """Return the halves with sequences from `first` on."""
        return replace(self, sequence=np.arange(first, first + len(self), dtype=np.int64))

    def index(self) -> pa.Table:
        """Return the rows of `stored.halves`, with 0 for no key."""
        names = ("sequence", "side", "key", "part", "match", "trace", "alias", "start_ns")
        return pa.table({name: pa.array(getattr(self, name)) for name in names})


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Halves of the gateways, and halves of the engines with their log lines."""

    gateways: Halves
    engines: Halves

    @property
    def newest(self) -> int:
        """Return the last sequence, -1 without a half."""
        return max(int(side.sequence.max(initial=-1)) for side in (self.gateways, self.engines))

    @property
    def span(self) -> tuple[int, int]:
        """Return the first and the last start."""
        starts = np.concatenate([self.gateways.start_ns, self.engines.start_ns])
        return int(starts.min()), int(starts.max())

    def __len__(self) -> int:
        return len(self.gateways) + len(self.engines)


def joined_sides(parts: Sequence[Sides]) -> Sides:
    """Return all halves in one, by side."""
    return Sides(joined_halves([part.gateways for part in parts]), joined_halves([part.engines for part in parts]))


def joined_halves(parts: Sequence[Halves]) -> Halves:
    """Return all halves in one."""
    parts = [part for part in parts if len(part)] or parts[:1]
    if len(parts) == 1:
        return parts[0]

    return Halves(
        np.concatenate([part.sequence for part in parts]),
        np.concatenate([part.side for part in parts]),
        np.concatenate([part.key for part in parts]),
        np.concatenate([part.part for part in parts]),
        np.concatenate([part.match for part in parts]),
        np.concatenate([part.trace for part in parts]),
        np.concatenate([part.alias for part in parts]),
        np.concatenate([part.start_ns for part in parts]),
        pa.concat_tables([part.body for part in parts], promote_options="default").combine_chunks(),
    )


def no_halves() -> Halves:
    """Return halves without a row."""
    empty = np.zeros(0, np.uint64)
    whole = np.zeros(0, np.int64)
    body = pa.table({"start_ns": pa.array([], pa.int64())})
    return Halves(whole, np.zeros(0, np.uint8), empty, empty, empty, empty, empty, whole, body)


def sides_of(groups: Iterable[Sequence[RequestHalf]]) -> Sides:
    """Return halves as columns by side (engine and log are one), not yet numbered."""
    gateways, engines = HalfFields(), HalfFields()
    for found in groups:
        for first in range(0, len(found), _BLOCK):
            block = found[first : first + _BLOCK]
            mine = [half for half in block if half.side == "gateway"]
            gateways.read(mine)
            if len(mine) < len(block):
                engines.read([half for half in block if half.side != "gateway"] if mine else block)
    return Sides(_halves(gateways, gateway=True), _halves(engines, gateway=False))


def _halves(read: HalfFields, *, gateway: bool) -> Halves:
    rows = len(read)
    if not rows:
        return no_halves()
    columns = read.arrays()
    keys = {name: text_keys(columns.get(name), rows) for name in ("key", "part", "match", "trace_id", "alias")}
    nameless = [columns[name].is_null() for name in ("match", "request_id") if name in columns]
    own = columns["key" if gateway else "part"]
    if not nameless:
        columns["name"] = own
    elif all(pc.any(column).as_py() for column in nameless):
        columns["name"] = pc.if_else(reduce(pc.and_, nameless), own, pa.scalar(None, own.type))
    side = np.zeros(rows, np.uint8) if gateway else np.full(rows, ENGINE, np.uint8)
    if "log" in read.sides:
        side = np.array([LOG if side == "log" else ENGINE for side in read.sides], np.uint8)
    return Halves(
        np.zeros(rows, np.int64),
        side,
        keys["key"] if gateway else np.zeros(rows, np.uint64),
        keys["part"],
        keys["match"],
        keys["trace_id"],
        keys["alias"],
        columns["start_ns"].to_numpy(),
        pa.table({name: column for name, column in columns.items() if name not in _KEYED}),
    )


def packed(body: pa.Table) -> bytes:
    """Return a body as bytes: its length, then Arrow's stream format in zstd."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, body.schema) as writer:
        writer.write_table(body.combine_chunks())
    content = sink.getvalue()
    squeezed: bytes = _CODEC.compress(content, asbytes=True)
    return len(content).to_bytes(8, "little") + squeezed


def unpacked(content: bytes) -> pa.Table:
    """Return the body of such bytes."""
    size = int.from_bytes(content[:8], "little")
    with pa.ipc.open_stream(_CODEC.decompress(content[8:], decompressed_size=size)) as reader:
        return reader.read_all()

"""What a store commits: scrapes (one by one or as columns), host rows, request halves, tables in the import format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from signals.readings import Attributes
from signals.records import HostRows, Identity, Scrape, Target
from signals.spans import RequestHalf

#: A canonical signal and its attributes.
Key = tuple[str, Attributes]


@dataclass(frozen=True, slots=True)
class HalfBatch:
    """The request halves of one batch of spans or of one piece of a request log."""

    identity: Identity
    halves: tuple[RequestHalf, ...]
    #: Spans that described a request and said nothing usable.
    empty: int = 0


@dataclass(frozen=True, slots=True)
class TableBatch:
    """Rows of one public view, columns named as in CONTRACT; columns that are absent become NULL."""

    identity: Identity
    view: str
    table: pa.Table


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Where the values of one (model, role) stand in the matrices of a ColumnBatch, one entry per signal.

    `gauges` and `counters` name columns of `numbers`, places beside them. A histogram's sum is a column of `numbers`,
    its count and then its bucket counts are neighbouring columns of `counts` from `count_at` on.
    """

    model: str | None
    role: str | None
    gauges: tuple[Key, ...]
    gauge_at: tuple[int, ...]
    counters: tuple[Key, ...]
    counter_at: tuple[int, ...]
    histograms: tuple[tuple[str, Attributes, tuple[float, ...]], ...]
    sum_at: tuple[int, ...]
    count_at: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """What the scrapes of one target say of it, the same object as long as it does not change."""

    agent: str
    epoch: str
    target: Target
    state: str
    facts: Mapping[str, str]
    process_start: float | None
    error: str | None
    last_groups: tuple[tuple[str | None, str | None], ...]


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBatch:
    """N scrapes of one layout as arrays: what N `Scrape` records say, without an object per point.

    Row i is the scrape `sequences[i]` of `sources[i]`; `start_ns[i]` is 0 where there was no scrape before. `numbers`
    is float64 (N, K), `counts` int64 (N, M); NaN and infinities in `numbers` mean missing. The groups are shared by
    all batches of the layout (compare with `is`).
    """

    sources: tuple[Source, ...]
    sequences: npt.NDArray[np.int64]
    time_ns: npt.NDArray[np.int64]
    start_ns: npt.NDArray[np.int64]
    groups: tuple[ColumnGroup, ...]
    numbers: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sources)

    def identities(self) -> list[Identity]:
        """Return the identity of every row."""
        return [
            Identity(source.agent, source.epoch, sequence)
            for source, sequence in zip(self.sources, self.sequences.tolist(), strict=True)
        ]

    def take(self, rows: Sequence[int]) -> ColumnBatch:
        """Return the batch with these rows only."""
        picked = np.asarray(rows, dtype=np.intp)
        return ColumnBatch(
            tuple(self.sources[row] for row in rows),
            self.sequences[picked],
            self.time_ns[picked],
            self.start_ns[picked],
            self.groups,
            self.numbers[picked],
            self.counts[picked],
        )


Batch = Scrape | HostRows | HalfBatch | TableBatch | ColumnBatch

"""What a store commits: scrapes, host rows, request halves, and whole tables in the import format."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from signals.records import HostRows, Identity, Scrape
from signals.spans import RequestHalf


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


Batch = Scrape | HostRows | HalfBatch | TableBatch

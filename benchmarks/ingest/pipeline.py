"""Measures the way from OTLP bodies to committed rows inside one process, in CPU seconds of all its threads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ingest.bodies import Body
from collector.receivers.compression import decompress
from collector.receivers.metrics import MetricsReceiver
from collector.store.store import Store

#: Bodies in one transaction: what a tenth of a second brings from 200 agents that catch up.
GROUP = 400


@dataclass(frozen=True, slots=True)
class Ingest:
    """Samples and scrapes stored, CPU and wall seconds, and the file's bytes per sample after a checkpoint."""

    samples: int
    scrapes: int
    cpu_seconds: float
    wall_seconds: float
    bytes_per_sample: float


def ingest(path: Path, found: Sequence[Body], warm: int = GROUP) -> Ingest:
    """Decompress, decode and commit every body; the first `warm` bodies are not timed."""
    receiver = MetricsReceiver()
    with Store.open(path) as store:
        empty = path.stat().st_size
        _commit(store, receiver, found[:warm])
        cpu, wall = time.process_time(), time.perf_counter()
        for first in range(warm, len(found), GROUP):
            _commit(store, receiver, found[first : first + GROUP])
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        store.checkpoint()
        with store.cursor() as cursor:
            row = cursor.execute("select count(*) from engine_samples").fetchone()
    assert row is not None
    assert row[0] == sum(body.scrapes for body in found), "a scrape is missing"
    timed = found[warm:]
    size = max(0, path.stat().st_size - empty)
    return Ingest(
        sum(body.samples for body in timed),
        sum(body.scrapes for body in timed),
        cpu,
        wall,
        size / sum(body.samples for body in found),
    )


def _commit(store: Store, receiver: MetricsReceiver, found: Sequence[Body]) -> None:
    batches = [
        batch
        for body in found
        for batch in receiver.decode_body(decompress(body.content, "gzip", 1 << 26), "bench").batches
    ]
    store.commit(batches)

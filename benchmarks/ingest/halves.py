"""Measures how fast request halves become joined requests, and how many bytes a request row takes."""

from __future__ import annotations

import gc
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from collector.store.batch import HalfBatch
from collector.store.group_commit import GroupCommit
from collector.store.store import Store
from signals.records import Identity
from signals.spans import RequestHalf

T0 = 1_780_000_000_000_000_000
TENANTS = ("acme", "globex", "initech", "umbrella")
#: Batches that are sent and not yet acknowledged.
SENDERS = 64
LENGTHS = (300, 900, 2_400, 7_000, 30_000)


@dataclass(frozen=True, slots=True)
class Joined:
    """Requests joined per CPU second (commit and join), and bytes per row of `requests`."""

    per_cpu_second: float
    bytes_per_request: float


def join(path: Path, requests: int = 150_000, per_batch: int = 500) -> Joined:
    """Send both halves of every request through group commit, as many senders at once do, until all are joined.

    Each sender waits for its acknowledgement before the next batch. Counted is all CPU time of commits and joins, and
    of the checkpoint at the end; that the senders' objects exist is not the store's work, so they are frozen for gc.
    """
    with Store.open(None) as warm:  # the first use of a library loads its modules
        warm.commit(_batches(10, 10))
        warm.join()
    waiting = deque(_batches(requests, per_batch))
    gc.collect()
    gc.freeze()
    with Store.open(path) as store:
        cpu = time.process_time()
        writer = GroupCommit(store)
        sent: deque[Future[list[bool]]] = deque()
        while waiting or sent:
            while waiting and len(sent) < SENDERS:
                sent.append(writer.submit([waiting.popleft()]))
            sent.popleft().result()
        writer.close()
        store.checkpoint()
        cpu = time.process_time() - cpu
        gc.unfreeze()
        with store.cursor() as cursor:
            row = cursor.execute("select count(*), count(tenant), count(engine_ttft_seconds) from requests").fetchone()
        assert row == (requests, requests, requests), f"joined {row} of {requests}"
        size = _row_bytes(store, path.with_name("rows.duckdb"), requests)
    return Joined(requests / cpu, size)


def _row_bytes(store: Store, target: Path, requests: int) -> float:
    """Return bytes per row of a file that holds nothing but what is stored of requests, in the order of arrival."""
    target.unlink(missing_ok=True)
    with store.cursor() as cursor:
        table = cursor.sql(
            "select * exclude (first_token_at, finished_at, tpot_seconds) from stored.requests"
        ).to_arrow_table()
    with duckdb.connect(str(target), config={"storage_compatibility_version": "v1.5.0"}) as other:
        other.register("incoming", table)
        other.execute("create table requests as select * from incoming where false")
        other.execute("checkpoint")
        empty = target.stat().st_size
        other.execute("insert into requests select * from incoming")
        other.execute("checkpoint")
    return (target.stat().st_size - empty) / requests


def _batches(requests: int, per_batch: int) -> list[HalfBatch]:
    generator = np.random.default_rng(7)
    ttft = generator.lognormal(-1.0, 0.8, requests)
    decode = generator.lognormal(1.0, 0.7, requests)
    tokens = generator.integers(10, 900, requests)
    found = []
    for first in range(0, requests, per_batch):
        halves: list[RequestHalf] = []
        for number in range(first, min(requests, first + per_batch)):
            halves += _pair(number, float(ttft[number]), float(decode[number]), int(tokens[number]))
        found.append(HalfBatch(Identity("bench", "halves", first), tuple(halves)))
    return found


def _pair(number: int, ttft: float, decode: float, tokens: int) -> list[RequestHalf]:
    trace, gateway, engine = f"{number:032x}", f"{2 * number:016x}", f"{2 * number + 1:016x}"
    other = f"{number + (1 << 64):032x}"  # engines begin a trace of their own
    start = T0 + number * 2_000_000
    end = start + int((ttft + decode) * 1e9)
    match = f"cmpl-{number:08x}"
    return [
        RequestHalf(
            "gateway", gateway, f"{trace}/{gateway}", start, end, trace, match, None, f"call-{number:08x}", "chat-70b",
            "chat", None, TENANTS[number % 4], f"team-{number % 4}", input_tokens=LENGTHS[number % 5] + number % 97,
            output_tokens=tokens, ttft_seconds=ttft + 0.01, e2e_seconds=ttft + decode + 0.01, status="ok", attempts=1,
        ),
        RequestHalf(
            "engine", engine, f"{other}/{engine}", start + 5_000_000, end, other, match, None,
            f"{match}-0", "chat-70b", instance=f"10.0.{number % 25}.{number % 8}:8000", engine="vllm",
            input_tokens=LENGTHS[number % 5] + number % 97, output_tokens=tokens, queue_seconds=ttft * 0.3,
            prefill_seconds=ttft * 0.6, decode_seconds=decode, ttft_seconds=ttft, e2e_seconds=ttft + decode,
            status="ok",
        ),
    ]  # fmt: skip

"""Kills a real collector again and again while senders write; counts what was lost, doubled or damaged.

A batch is a scrape and then the span of a request; it is acknowledged when both are, and stored when both are there.

Run as `python -m benchmarks.ingest.kills ROUNDS FOLDER`; prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agent.encode import Encoder, seal
from benchmarks.ingest.server import Server
from collector.config import CollectorConfig
from collector.store.store import Store
from signals.errors import StoreError
from tests.support.scrapes import busy

SENDERS = 3
HEADERS = {"content-type": "application/x-protobuf"}
#: Longest time that a round lets the senders write.
MAX_SECONDS = 0.5


@dataclass(slots=True)
class Tally:
    """What happened over all rounds; batches are named by their sequence."""

    acked: set[int] = field(default_factory=set)
    unsure: set[int] = field(default_factory=set)
    in_flight: int = 0
    committed_unacked: int = 0
    corrupt: int = 0


def run(rounds: int, folder: Path) -> dict[str, int]:
    """Return lost, duplicates, corrupt, in_flight (rounds with a batch in flight), committed_unacked and acked."""
    path = folder / "kills.duckdb"
    for old in folder.glob("kills.duckdb*"):
        old.unlink()
    tally = Tally()
    clock = random.Random(20_260_501)
    config = CollectorConfig(db=str(path), port=0, jobs=False, linger_seconds=0.02, requests_per_second=0)
    for number in range(rounds):
        try:
            server = Server.start(config)
        except RuntimeError:
            tally.corrupt += 1
            break
        _send_again(server.url, tally)
        _round(server, tally, number, clock)
    server = Server.start(config)
    _send_again(server.url, tally)
    server.stop()
    seen = _stored(path)
    return {
        "rounds": rounds,
        "acked": len(tally.acked),
        "lost": sum(sequence not in seen for sequence in tally.acked),
        "duplicates": sum(count - 1 for count in seen.values()),
        "corrupt": tally.corrupt,
        "in_flight": tally.in_flight,
        "committed_unacked": tally.committed_unacked,
    }


def _round(server: Server, tally: Tally, number: int, clock: random.Random) -> None:
    stop, begun = threading.Event(), threading.Event()
    open_: dict[int, int | None] = dict.fromkeys(range(SENDERS))

    def send(place: int) -> None:
        encoder = Encoder()
        with httpx.Client(base_url=server.url, timeout=10) as client:
            for step in range(100_000):
                if stop.is_set():
                    return
                sequence = (number * 100_000 + step) * SENDERS + place
                open_[place] = sequence
                try:
                    if _sent(client, encoder, sequence):
                        tally.acked.add(sequence)
                        open_[place] = None
                        begun.set()
                except httpx.HTTPError:
                    return

    threads = [threading.Thread(target=send, args=(place,)) for place in range(SENDERS)]
    for thread in threads:
        thread.start()
    begun.wait(10)  # on a busy machine the first connection alone may take longer than the round
    time.sleep(clock.uniform(0.05, MAX_SECONDS))
    server.kill()
    stop.set()
    for thread in threads:
        thread.join()
    unsure = {sequence for sequence in open_.values() if sequence is not None}
    tally.unsure |= unsure
    tally.in_flight += bool(unsure)


def _sent(client: httpx.Client, encoder: Encoder, sequence: int) -> bool:
    """Send one batch; return whether the collector acknowledged both of its parts."""
    body = seal([encoder.scrape(busy(sequence, f"engine-{sequence % SENDERS}"))])
    answers = [
        client.post(place, content=content, headers=HEADERS)
        for place, content in (("/v1/metrics", body), ("/v1/traces", _span(sequence)))
    ]
    return all(answer.status_code == 200 for answer in answers)


def _span(sequence: int) -> bytes:
    """Return the engine's span of the request of this number."""
    message = ExportTraceServiceRequest()
    resource = message.resource_spans.add()
    resource.resource.attributes.add(key="service.instance.id").value.string_value = f"engine-{sequence % SENDERS}"
    name = (sequence + 1).to_bytes(8, "big")
    span = resource.scope_spans.add().spans.add(name="llm_request", trace_id=name * 2, span_id=name)
    span.start_time_unix_nano = busy(sequence).time_ns
    span.end_time_unix_nano = span.start_time_unix_nano + 3_000_000_000
    for key, value in (("time_to_first_token", 0.4), ("e2e", 2.9)):
        span.attributes.add(key=f"gen_ai.latency.{key}").value.double_value = value
    return message.SerializeToString()


def _send_again(url: str, tally: Tally) -> None:
    """Do what an agent does: send again what was not acknowledged; note what the store knew already."""
    encoder = Encoder()
    with httpx.Client(base_url=url, timeout=30) as client:
        for sequence in sorted(tally.unsure):
            before = _repeated(client)
            assert _sent(client, encoder, sequence), f"batch {sequence} was refused"
            tally.committed_unacked += _repeated(client) > before
            tally.acked.add(sequence)
    tally.unsure.clear()


def _repeated(client: httpx.Client) -> float:
    text = client.get("/metrics").text
    line = next(line for line in text.splitlines() if line.startswith("sloscope_collector_batches_repeated_total "))
    return float(line.split()[1])


def _stored(path: Path) -> Counter[int]:
    """Return how often each batch is stored, by the times of its scrape and of its request; 0 where one is missing."""
    try:
        with Store.open(path) as store, store.cursor() as cursor:
            store.join()
            found = [
                Counter((row[0] - busy(0).time_ns // 1000) // 2_000_000 for row in cursor.execute(query).fetchall())
                for query in (
                    "select cast(epoch_us(ts) as bigint) from engine_samples",
                    "select cast(epoch_us(ts) as bigint) from requests",
                )
            ]
    except (StoreError, duckdb.Error):
        return Counter()
    scrapes, requests = found
    both = scrapes.keys() & requests.keys()
    return Counter({sequence: max(scrapes[sequence], requests[sequence]) for sequence in both})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int)
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    print(json.dumps(run(asked.rounds, asked.folder)))

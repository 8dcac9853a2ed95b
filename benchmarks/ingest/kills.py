"""Kills a real collector again and again while senders write; counts what was lost, doubled or damaged.

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
    stop = threading.Event()
    open_: dict[int, int | None] = dict.fromkeys(range(SENDERS))

    def send(place: int) -> None:
        encoder = Encoder()
        with httpx.Client(base_url=server.url, timeout=10) as client:
            for step in range(100_000):
                if stop.is_set():
                    return
                sequence = (number * 100_000 + step) * SENDERS + place
                body = seal([encoder.scrape(busy(sequence, f"engine-{place}"))])
                open_[place] = sequence
                try:
                    if client.post("/v1/metrics", content=body, headers=HEADERS).status_code == 200:
                        tally.acked.add(sequence)
                        open_[place] = None
                except httpx.HTTPError:
                    return

    threads = [threading.Thread(target=send, args=(place,)) for place in range(SENDERS)]
    for thread in threads:
        thread.start()
    time.sleep(clock.uniform(0.05, MAX_SECONDS))
    server.kill()
    stop.set()
    for thread in threads:
        thread.join()
    unsure = {sequence for sequence in open_.values() if sequence is not None}
    tally.unsure |= unsure
    tally.in_flight += bool(unsure)


def _send_again(url: str, tally: Tally) -> None:
    """Do what an agent does: send again what was not acknowledged; note what the store knew already."""
    encoder = Encoder()
    with httpx.Client(base_url=url, timeout=30) as client:
        for sequence in sorted(tally.unsure):
            before = _repeated(client)
            body = seal([encoder.scrape(busy(sequence, f"engine-{sequence % SENDERS}"))])
            answer = client.post("/v1/metrics", content=body, headers=HEADERS)
            assert answer.status_code == 200, answer.text
            tally.committed_unacked += _repeated(client) > before
            tally.acked.add(sequence)
    tally.unsure.clear()


def _repeated(client: httpx.Client) -> float:
    text = client.get("/metrics").text
    line = next(line for line in text.splitlines() if line.startswith("sloscope_collector_batches_repeated_total "))
    return float(line.split()[1])


def _stored(path: Path) -> Counter[int]:
    """Return how often each sequence is stored, by its row's time."""
    try:
        with Store.open(path) as store, store.cursor() as cursor:
            rows = cursor.execute("select cast(epoch_us(ts) as bigint) from engine_samples").fetchall()
    except (StoreError, duckdb.Error):
        return Counter()
    first = busy(0).time_ns // 1000
    return Counter((row[0] - first) // 2_000_000 for row in rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int)
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    print(json.dumps(run(asked.rounds, asked.folder)))

"""Runs a real collector under steady load and times appends, reads and freshness; watches its memory.

Run as `python -m benchmarks.ingest.load SECONDS FOLDER`; prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agent.encode import Encoder, seal
from benchmarks.ingest.bodies import INSTANCES, PER_AGENT, recorded, scrape_of
from benchmarks.ingest.server import Server
from collector.config import CollectorConfig
from collector.store.store import Store

WRITERS = 4
REQUESTS_PER_SECOND = 500
SCRAPE_SECONDS = 5
#: Requests that are stored before the load begins: what the dashboard reads over.
STORED = 2_000_000
#: After three minutes caches and DuckDB's buffers are as full as they get; a shorter run counts from its half.
SETTLED_SECONDS = 180
HEADERS = {"content-type": "application/x-protobuf"}
FILL = """
insert into stored.requests by name
select
    timestamptz '2026-05-01 00:00:00+00' + to_microseconds(cast(i * 43000 as bigint)) as ts, 'r' || i as request_id,
    'model-' || (i % 4) as model, 'tenant-' || (i % 22) as tenant, '1k-4k' as length_bucket,
    exp(-1.0 + 0.8 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())) as ttft_seconds, 'ok' as status,
    'import' as source
from range($rows) t(i)
"""
DASHBOARD = "select model, count(*) as n, quantile_disc(ttft_seconds, 0.99) as p99 from requests group by model"


@dataclass(slots=True)
class Times:
    """Milliseconds of each kind, and memory over time."""

    append: list[float] = field(default_factory=list)
    read: list[float] = field(default_factory=list)
    fresh: list[float] = field(default_factory=list)
    rss: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def run(seconds: float, folder: Path) -> dict[str, float]:
    """Return p99s in ms, freshness in s, and memory in MB: the largest, that of minute 3, the last, and its slope."""
    path = folder / "load.duckdb"
    for old in folder.glob("load.duckdb*"):
        old.unlink()
    with Store.open(path) as store, store.cursor() as cursor:
        cursor.execute(FILL, {"rows": STORED})
        store.checkpoint()
    recorded()
    config = CollectorConfig(db=str(path), port=0, memory_limit="400MB", threads=2, requests_per_second=0)
    server = Server.start(config, patience=120)
    times = Times()
    stop = threading.Event()
    workers = [threading.Thread(target=_write, args=(server.url, place, stop, times)) for place in range(WRITERS)]
    workers.append(threading.Thread(target=_read, args=(server.url, stop, times)))
    for worker in workers:
        worker.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        times.rss.append(server.rss_mb())
        time.sleep(1.0)
    stop.set()
    for worker in workers:
        worker.join()
    code = server.stop()
    settled = min(SETTLED_SECONDS, len(times.rss) // 2)
    return {
        "append_p99_ms": float(np.quantile(times.append, 0.99)),
        "append_p50_ms": float(np.quantile(times.append, 0.5)),
        "read_p99_ms": float(np.quantile(times.read, 0.99)),
        "read_p50_ms": float(np.quantile(times.read, 0.5)),
        "freshness_p99_seconds": float(np.quantile(times.fresh, 0.99)) / 1000,
        "rss_mb": max(times.rss),
        "rss_settled_mb": times.rss[settled],
        "rss_end_mb": times.rss[-1],
        "rss_mb_per_minute": _slope(times.rss[settled:]) * 60.0,
        "appends": len(times.append),
        "errors": len(times.errors),
        "exit_code": float(code or 0),
    }


def _slope(values: list[float]) -> float:
    """Return the least-squares slope per value."""
    return float(np.polyfit(np.arange(len(values)), values, 1)[0]) if len(values) > 1 else 0.0


def _write(url: str, place: int, stop: threading.Event, times: Times) -> None:
    """Send this writer's share once a second: scrapes of its instances every five seconds, and spans of requests."""
    encoder = Encoder()
    own = range(place, INSTANCES, WRITERS)
    with httpx.Client(base_url=url, timeout=60) as client:
        for second in range(1_000_000):
            begun = time.monotonic()
            due = [instance for instance in own if (instance // WRITERS) % SCRAPE_SECONDS == second % SCRAPE_SECONDS]
            for first in range(0, len(due), PER_AGENT):
                scrapes = [scrape_of(instance, second, f"load-{place}") for instance in due[first : first + PER_AGENT]]
                _post(client, "/v1/metrics", seal(encoder.scrape(scrape) for scrape in scrapes), times)
                _see(client, scrapes[-1].target.instance, scrapes[-1].time_ns, times)
            _post(client, "/v1/traces", _spans(place, second), times)
            if stop.wait(max(0.0, 1.0 - (time.monotonic() - begun))):
                return


def _post(client: httpx.Client, path: str, body: bytes, times: Times) -> None:
    begin = time.perf_counter()
    answer = client.post(path, content=body, headers=HEADERS)
    times.append.append((time.perf_counter() - begin) * 1000)
    if answer.status_code != 200:
        times.errors.append(answer.text[:200])


def _see(client: httpx.Client, instance: str, time_ns: int, times: Times) -> None:
    """Ask until the scrape is in an answer; the last append's time counts too."""
    begin = time.perf_counter()
    query = (
        f"select count(*) as n from engine_samples where instance = '{instance}' and epoch_us(ts) = {time_ns // 1000}"
    )
    for _ in range(200):
        answer = client.post("/api/v1/sql", content=query)
        if answer.status_code == 200 and answer.json()["rows"][0]["n"]:
            break
        time.sleep(0.02)
    times.fresh.append((time.perf_counter() - begin) * 1000 + times.append[-1])


def _read(url: str, stop: threading.Event, times: Times) -> None:
    with httpx.Client(base_url=url, timeout=60) as client:
        while not stop.wait(1.0):
            begin = time.perf_counter()
            answer = client.post("/api/v1/sql", content=DASHBOARD)
            if answer.status_code == 200:
                times.read.append((time.perf_counter() - begin) * 1000)
            elif answer.status_code != 429:
                times.errors.append(answer.text[:200])


def _spans(place: int, second: int) -> bytes:
    message = ExportTraceServiceRequest()
    resource = message.resource_spans.add()
    resource.resource.attributes.add(key="service.instance.id").value.string_value = f"engine-{place}"
    resource.resource.attributes.add(key="sloscope.model").value.string_value = "tiny-llama"
    spans = resource.scope_spans.add().spans
    start = time.time_ns()
    for number in range(REQUESTS_PER_SECOND // WRITERS):
        name = ((place * 1_000_000 + second) * 1_000 + number).to_bytes(8, "big")
        span = spans.add(
            name="llm_request", trace_id=name * 2, span_id=name, start_time_unix_nano=start - 3_000_000_000,
            end_time_unix_nano=start + number * 1000,
        )  # fmt: skip
        for key, value in (("time_to_first_token", 0.4), ("e2e", 2.9), ("time_in_queue", 0.1)):
            span.attributes.add(key=f"gen_ai.latency.{key}").value.double_value = value
        for key, whole in (("prompt_tokens", 900 + number), ("completion_tokens", 120)):
            span.attributes.add(key=f"gen_ai.usage.{key}").value.int_value = whole
    return message.SerializeToString()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float)
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    print(json.dumps(run(asked.seconds, asked.folder)))

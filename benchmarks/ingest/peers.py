"""Feeds the same recorded pages to Prometheus and VictoriaMetrics by remote-write, and reads their CPU seconds."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cramjam
import httpx

from benchmarks.ingest.bodies import INSTANCES, PER_AGENT, recording
from collector.receivers.remote_write import _REQUEST
from signals.pages import PageParser

PERIOD_MS = 2_000
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Write:
    """One remote-write body, and how many samples are in it."""

    content: bytes
    samples: int


def writes(steps: int) -> Iterator[Write]:
    """Yield the raw series of all instances, step by step, one body per agent of eight instances."""
    folder = recording()
    parser = PageParser()
    names = sorted(folder.glob("[0-9]*.txt"))
    pages = [parser.parse(names[10 + number].read_text(encoding="utf-8")) for number in range(min(40, len(names) - 10))]
    start = int(time.time() * 1000) - steps * PERIOD_MS
    templates: dict[tuple[int, int], object] = {}
    for step in range(steps):
        for first in range(0, INSTANCES, PER_AGENT):
            message = _REQUEST()
            for instance in range(first, first + PER_AGENT):
                page = pages[(step + 7 * instance) % len(pages)]
                for place, (series, value) in enumerate(page.samples()):
                    one = message.timeseries.add()
                    known = templates.get((instance, place))
                    if known is None or known[0] is not series:  # type: ignore[index]  # (series, labels)
                        labels = {
                            "__name__": series.name,
                            **series.labels,
                            "instance": f"10.0.{instance}:8000",
                            "job": "vllm",
                        }
                        one.labels.extend(_pairs(labels))
                        templates[(instance, place)] = (series, one.labels)
                    else:
                        one.labels.extend(known[1])  # type: ignore[index]
                    one.samples.add(value=value, timestamp=start + step * PERIOD_MS)
            raw = message.SerializeToString()
            yield Write(bytes(cramjam.snappy.compress_raw(raw)), len(message.timeseries))


def _pairs(labels: dict[str, str]) -> list[object]:
    made = _REQUEST()
    series = made.timeseries.add()
    for name in sorted(labels):
        series.labels.add(name=name, value=labels[name])
    return list(series.labels)


def victoria_metrics(folder: Path, port: int) -> list[str]:
    return [
        "victoria-metrics", f"-storageDataPath={folder}", f"-httpListenAddr=127.0.0.1:{port}", "-loggerLevel=ERROR",
    ]  # fmt: skip


def prometheus(folder: Path, port: int) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "p.yml").write_text("global: {}\n")
    return [
        "prometheus", f"--config.file={folder / 'p.yml'}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}", "--web.enable-remote-write-receiver", "--log.level=error",
    ]  # fmt: skip


PEERS = {"victoria-metrics": victoria_metrics, "prometheus": prometheus}


def samples_per_cpu_second(name: str, found: Sequence[Write], warm: int, folder: Path) -> float | None:
    """Return what a peer takes per CPU second of its process, or None when it is not installed."""
    if shutil.which(name) is None:
        return None
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(PEERS[name](folder, port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            _wait(client)
            _send(client, found[:warm])
            before = _cpu(process.pid)
            _send(client, found[warm:])
            time.sleep(2.0)  # what it does behind its answers is part of the work
            spent = _cpu(process.pid) - before
        return sum(one.samples for one in found[warm:]) / spent
    finally:
        process.terminate()
        process.wait(30)


def _send(client: httpx.Client, found: Sequence[Write]) -> None:
    headers = {
        "content-encoding": "snappy",
        "content-type": "application/x-protobuf",
        "x-prometheus-remote-write-version": "0.1.0",
    }
    for one in found:
        answer = client.post("/api/v1/write", content=one.content, headers=headers)
        if answer.status_code >= 300:
            raise RuntimeError(f"{answer.status_code}: {answer.text[:200]}")


def _wait(client: httpx.Client) -> None:
    for _ in range(200):
        try:
            if client.get("/-/healthy").status_code < 500:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise RuntimeError("the peer does not answer")


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS

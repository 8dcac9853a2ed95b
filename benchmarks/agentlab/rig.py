"""Starts the programs of an experiment and reads what they cost from /proc; ends only what it started."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, cast

import yaml

from tests.support import pages

ROOT = Path(__file__).resolve().parents[2]
PAGE = "vllm-0172"
TICKS = os.sysconf("SC_CLK_TCK")


class Books(TypedDict):
    """What the receiver wrote down: (epoch, count, last) of each sender, sums by instance, batches by how they came."""

    epochs: list[tuple[str, int, int]]
    sums: dict[str, list[float]]
    counts: dict[str, int]


@dataclass(slots=True)
class Program:
    """A running program and its costs."""

    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICKS

    def rss_mb(self) -> float:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024 / 1e6
        return float("nan")

    def end(self, how: int = signal.SIGTERM, seconds: float = 20.0) -> float:
        """Send a signal and wait; return the seconds it took."""
        began = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return time.monotonic() - began


@dataclass(slots=True)
class Rig:
    """One experiment in a folder of its own."""

    folder: Path
    stub: Path | None
    programs: list[Program] = field(default_factory=list)
    page_port: int = 0
    sink_port: int = 0
    own_port: int = 0
    sink: Program | None = None
    #: How often the stub driver looks for a changed state or an event; a real driver sleeps until there is one.
    stub_check_ms: int = 500

    def start(self, argv: Sequence[str], log: str, env: Mapping[str, str] | None = None) -> Program:
        with (self.folder / log).open("ab") as stream:
            process = subprocess.Popen(
                argv,
                cwd=ROOT,
                env={**os.environ, **(env or {})},
                stdout=stream,
                stderr=stream,
                stdin=subprocess.DEVNULL,
            )
        program = Program(process)
        self.programs.append(program)
        return program

    def start_pages(self) -> Program:
        self.page_port = free_port()
        page = self.folder / "page.txt"
        page.write_text(pages.read(PAGE))
        program = self.start(
            [sys.executable, "-m", "benchmarks.agentlab.pages", str(self.page_port), str(page)], "pages.log"
        )
        wait_for(f"http://127.0.0.1:{self.page_port}/served")
        return program

    def start_sink(self) -> Program:
        self.sink_port = self.sink_port or free_port()
        books = str(self.folder / "books.db")
        program = self.start([sys.executable, "-m", "benchmarks.agentlab.sink", str(self.sink_port), books], "sink.log")
        wait_for(f"http://127.0.0.1:{self.sink_port}/books")
        self.sink = program
        return program

    def config(self, targets: Sequence[Mapping[str, object]], **sections: Mapping[str, object]) -> Path:
        """Write the agent's configuration."""
        self.own_port = self.own_port or free_port()
        data: dict[str, object] = {
            "collector": {"url": f"http://127.0.0.1:{self.sink_port}", "backoff": "200ms", "backoff_max": "1s"},
            "agent": {
                "name": "bench",
                "listen": f"127.0.0.1:{self.own_port}",
                "spool": str(self.folder / "spool" / "s.db"),
            },
            "spans": {"listen": f"127.0.0.1:{free_port()}"},
            "targets": list(targets),
        }
        for name, section in sections.items():
            before = data.get(name)
            data[name] = {**before, **section} if isinstance(before, dict) else section
        path = self.folder / "agent.yaml"
        path.write_text(yaml.safe_dump(data))
        return path

    def start_agent(self, config: Path) -> Program:
        env = {"PYTHONPATH": str(ROOT)}
        if self.stub is not None:
            env |= {
                "LD_LIBRARY_PATH": str(self.stub),
                "NVMLSTUB_STATE": str(self.folder / "gpus"),
                "NVMLSTUB_CHECK_MS": str(self.stub_check_ms),
            }
        program = self.start([sys.executable, "-m", "agent", "run", "--config", str(config)], "agent.log", env)
        try:
            wait_for(f"http://127.0.0.1:{self.own_port}/healthz")
        except OSError:
            print((self.folder / "agent.log").read_text()[-2000:])
            raise
        return program

    def books(self) -> Books:
        return cast("Books", get(f"http://127.0.0.1:{self.sink_port}/books"))

    def served(self) -> dict[str, dict[str, int]]:
        return cast("dict[str, dict[str, int]]", get(f"http://127.0.0.1:{self.page_port}/served"))

    def freeze(self) -> None:
        """Stop the counters on all pages, and wait until every engine was scraped once more."""
        get(f"http://127.0.0.1:{self.page_port}/freeze")
        before = self.served()["served"]
        deadline = time.monotonic() + 30.0
        while any(number < before[name] + 3 for name, number in self.served()["served"].items()):
            if time.monotonic() > deadline:
                return
            time.sleep(0.05)

    def own_metrics(self) -> dict[str, float]:
        """Return the agent's own metrics: series → value."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.own_port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line and line[0] != "#"}

    def engines(self, number: int, interval: str, first: int = 0) -> list[dict[str, object]]:
        return [
            {
                "url": f"http://127.0.0.1:{self.page_port}/{n}/metrics",
                "instance": f"vllm-{n}",
                "engine": "vllm",
                "pool": "chat",
                "interval": interval,
                "timeout": "5s",
            }
            for n in range(first, first + number)
        ]

    def close(self) -> None:
        for program in reversed(self.programs):
            program.end(signal.SIGKILL)


def get(url: str) -> dict[str, object]:
    with urllib.request.urlopen(url, timeout=30) as answer:
        found = json.loads(answer.read())
    assert isinstance(found, dict)
    return found


def wait_for(url: str, seconds: float = 60.0) -> None:
    """Wait until a URL answers."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(url, timeout=2).read()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def gpu_state(count: int = 8, delay_us: int = 2000, **more: object) -> str:
    """Return the stub driver's state: busy Hopper GPUs whose performance counters take some time."""
    values = {
        "count": count,
        "gpm_delay_us": delay_us,
        "gpu.*.gpm.2": 71.5,
        "gpu.*.gpm.3": 23.25,
        "gpu.*.gpm.5": 41.0,
        "gpu.*.gpm.10": 63.125,
        "gpu.*.gpm.20": 1234.5,
        "gpu.*.gpm.21": 1000.0,
        "gpu.*.gpm.60": 40000.0,
        "gpu.*.gpm.61": 50124.0,
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    return "".join(f"{key} {value}\n" for key, value in values.items())

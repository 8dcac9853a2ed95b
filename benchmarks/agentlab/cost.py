"""Measures what a running agent costs: CPU and memory, ours and that of Debian's prometheus in agent mode."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from benchmarks.agentlab.rig import Program, Rig, free_port, gpu_state

#: The first scrapes learn every page's layout; they are a start-up cost.
WARM_UP_SECONDS = 12.0


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU in per cent of one core, resident memory in MB (10^6 bytes), scrapes that arrived."""

    cpu_percent: float
    rss_mb: float
    scrapes: int


def our_cost(make: Callable[[], Rig], engines: int, seconds: float) -> Cost:
    """Run the agent with engines every 5 s and 8 GPUs at 1 Hz; everything it does is on."""
    rig = make()
    rig.stub_check_ms = 5000  # nothing changes in this run
    try:
        (rig.folder / "gpus").write_text(gpu_state())
        rig.start_pages()
        rig.start_sink()
        agent = rig.start_agent(rig.config(rig.engines(engines, "5s")))
        cpu, rss = _measure(agent, seconds)
        scrapes = sum(int(row[1]) for row in rig.books()["sums"].values())
        return Cost(cpu, rss, scrapes)
    finally:
        rig.close()


def prometheus_cost(make: Callable[[], Rig], engines: int, seconds: float) -> Cost | None:
    """Run Debian's prometheus in agent mode on the same pages; None where it is not installed."""
    binary = shutil.which("prometheus")
    if binary is None:
        return None
    rig = make()
    try:
        rig.start_pages()
        rig.start_sink()
        config = rig.folder / "prometheus.yml"
        config.write_text(yaml.safe_dump(_prometheus_config(rig, engines)))
        storage = rig.folder / "wal"
        argv = [
            binary,
            "--enable-feature=agent",
            f"--config.file={config}",
            f"--storage.agent.path={storage}",
            f"--web.listen-address=127.0.0.1:{free_port()}",
        ]
        program = rig.start(argv, "prometheus.log")
        cpu, rss = _measure(program, seconds)
        return Cost(cpu, rss, sum(rig.served()["served"].values()))
    finally:
        rig.close()


def _prometheus_config(rig: Rig, engines: int) -> dict[str, object]:
    jobs = [
        {
            "job_name": f"vllm-{n}",
            "metrics_path": f"/{n}/metrics",
            "scrape_interval": "5s",
            "scrape_timeout": "5s",
            "static_configs": [{"targets": [f"127.0.0.1:{rig.page_port}"]}],
        }
        for n in range(engines)
    ]
    return {"scrape_configs": jobs, "remote_write": [{"url": f"http://127.0.0.1:{rig.sink_port}/write"}]}


def _measure(program: Program, seconds: float) -> tuple[float, float]:
    time.sleep(WARM_UP_SECONDS)
    cpu, began = program.cpu_seconds(), time.monotonic()
    time.sleep(seconds)
    percent = 100.0 * (program.cpu_seconds() - cpu) / (time.monotonic() - began)
    return percent, program.rss_mb()


def stub_folder(folder: Path) -> Path | None:
    """Build the stub driver; None where there is no compiler."""
    from tests.nvmlstub import build, compiler

    return build(folder / "stub").parent if compiler() else None

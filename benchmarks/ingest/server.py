"""Starts a real collector process over a file, by fork so that a start costs a tenth of a second; kills it too.

Import this in a process of its own that runs no threads while it starts servers.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import httpx

import collector.api.app  # noqa: F401  # imported before the fork
from collector.config import CollectorConfig
from collector.jobs.build import warm_up_jobs
from collector.serve import serve, warm_up

warm_up()
warm_up_jobs()
_FORK = multiprocessing.get_context("fork")


@dataclass(slots=True)
class Server:
    """One running collector."""

    process: BaseProcess
    url: str

    @classmethod
    def start(cls, config: CollectorConfig, patience: float = 30.0) -> Server:
        """Start a collector and wait until it answers."""
        marker = Path(f"{config.db}.serving")
        marker.unlink(missing_ok=True)
        process = _FORK.Process(target=_serve, args=(config,), daemon=True)
        process.start()
        until = time.monotonic() + patience
        while time.monotonic() < until and process.is_alive():
            if marker.exists() and (url := marker.read_text().strip()):
                with contextlib.suppress(httpx.HTTPError):
                    if httpx.get(f"{url}/healthz", timeout=5).status_code == 200:
                        return cls(process, url)
            time.sleep(0.01)
        raise RuntimeError(f"the collector did not start (exit code {process.exitcode})")

    def kill(self) -> None:
        """End the process without warning."""
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()

    def stop(self) -> int | None:
        """Ask the process to end and wait; return its exit code."""
        self.process.terminate()
        self.process.join(60)
        return self.process.exitcode

    def rss_mb(self) -> float:
        """Return the resident memory of the process in MB, its children excluded."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0.0


def _serve(config: CollectorConfig) -> None:
    sys.exit(serve(config, stderr=open(os.devnull, "w")))  # noqa: PTH123, SIM115  # lives as long as the process

"""The processes of the demo: a collector, an agent and a dashboard, each started as a user would start it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import yaml

from collector.demo.recording import Member
from signals.errors import UnreachableError

START_SECONDS = 60.0
STOP_SECONDS = 20.0


@dataclass(slots=True)
class Processes:
    """Child processes with their logs in one folder; `stop` ends them in reverse order."""

    folder: Path
    _running: list[tuple[str, subprocess.Popen[bytes]]] = field(default_factory=list)

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        log = (self.folder / f"{name}.log").open("ab")
        process = subprocess.Popen(command, stdout=log, stderr=log, env=dict(environment or os.environ))  # noqa: S603
        log.close()
        self._running.append((name, process))

    def check(self) -> None:
        """Raise UnreachableError with the end of the log when a process has ended by itself."""
        for name, process in self._running:
            if process.poll() is not None:
                tail = (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")[-1500:]
                raise UnreachableError(f"{name} ended with code {process.returncode}:\n{tail}")

    def stop(self, only: str | None = None) -> None:
        """End the processes (or one of them) gracefully, the last started first."""
        for name, process in reversed(self._running):
            if only is not None and name != only:
                continue
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self._running = [item for item in self._running if only is not None and item[0] != only]

    def wait_for(self, what: str, ready: Callable[[], bool], seconds: float = START_SECONDS) -> None:
        """Wait until `ready`; UnreachableError when a process ends or the time is up."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.check()
            with contextlib.suppress(httpx.HTTPError, OSError):
                if ready():
                    return
            time.sleep(0.1)
        raise UnreachableError(f"{what} was not ready after {seconds:g} s; see {self.folder}")


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def agent_config(
    folder: Path, collector_url: str, pages_url: str, members: Sequence[Member], ports: tuple[int, int], interval: float
) -> Path:
    """Write the agent's configuration; `ports` are its own page and its span receiver."""
    targets = []
    for member in members:
        target = {
            "url": f"{pages_url}/{member.instance}/metrics",
            "engine": member.engine,
            "instance": member.instance,
            "interval": f"{interval:g}s",
            "region": "local",
        }
        if member.pool is not None:
            target["pool"] = member.pool
        targets.append(target)
    content = {
        "collector": {"url": collector_url},
        "agent": {"name": "demo-agent", "listen": f"127.0.0.1:{ports[0]}", "spool": str(folder / "agent-spool.db")},
        "spans": {"listen": f"127.0.0.1:{ports[1]}"},
        "targets": targets,
    }
    path = folder / "agent.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def tool(name: str) -> str:
    """Return the path of one of our commands beside the running interpreter."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else name

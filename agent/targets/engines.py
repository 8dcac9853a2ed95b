"""Finds engines among the processes of this machine by their command lines; asks no port what it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.config import ProcessDiscovery
from agent.processes import Process, ProcessTable, port_of
from agent.targets.form import Found, filled
from signals.dialects import registry

#: Engine, what its server's command line contains, and the port that it takes by itself.
COMMANDS: tuple[tuple[str, re.Pattern[str], int], ...] = (
    ("vllm", re.compile(r"(^|[/ ])vllm serve\b|vllm\.entrypoints\.(openai\.)?api_server"), 8000),
    ("sglang", re.compile(r"sglang\.launch_server|(^|[/ ])sglang serve\b"), 30000),
    ("llamacpp", re.compile(r"(^|/)llama-server\b"), 8080),
    ("trtllm", re.compile(r"(^|/)trtllm-serve\b"), 8000),
    ("lmdeploy", re.compile(r"(^|[/ ])lmdeploy serve api_server"), 23333),
    ("dynamo", re.compile(r"dynamo\.frontend\b"), 8000),
    ("litellm", re.compile(r"(^|/)litellm( |$)"), 4000),
    ("triton", re.compile(r"(^|/)tritonserver\b"), 8002),
)


@dataclass(slots=True)
class EngineProcesses:
    """The processes of one machine."""

    config: ProcessDiscovery
    table: ProcessTable

    @property
    def refresh_seconds(self) -> float:
        return self.config.refresh_seconds

    def find(self) -> Sequence[Found]:
        """Return one target for every engine server; its workers are part of it."""
        processes = self.table.processes()
        ports: dict[int, int] = {}
        for port, pid in self.table.listeners(processes).items():
            ports[pid] = min(port, ports.get(pid, port))
        found: dict[int, Found] = {}
        for process in sorted(processes.values(), key=lambda one: one.pid):
            engine = engine_of(process)
            if engine is None or _has_engine_above(process, processes):
                continue
            port = port_of(process) or ports.get(process.pid) or next(p for e, _, p in COMMANDS if e == engine)
            url = f"http://127.0.0.1:{port}"
            found.setdefault(port, Found(filled(self.config.template, url, {"engine": engine})))
        return list(found.values())


def engine_of(process: Process) -> str | None:
    """Return the engine that a command line starts, if we speak its dialect."""
    line = " ".join(process.command)
    for engine, pattern, _ in COMMANDS:
        if pattern.search(line) and engine in registry.DIALECTS:
            return engine
    return None


def _has_engine_above(process: Process, processes: Mapping[int, Process]) -> bool:
    above = processes.get(process.parent)
    for _ in range(16):
        if above is None:
            return False
        if engine_of(above) is not None:
            return True
        above = processes.get(above.parent)
    return False

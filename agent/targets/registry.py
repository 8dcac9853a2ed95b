"""Every discovery by name: what the configuration turns on, ready to be asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from agent.config import Config
from agent.processes import ProcessTable
from agent.targets import kubernetes
from agent.targets.engines import EngineProcesses
from agent.targets.files import FileTargets
from agent.targets.form import Discovery

Maker = Callable[[Config, Mapping[str, str]], Discovery | None]


def _files(config: Config, _env: Mapping[str, str]) -> Discovery | None:
    return FileTargets(config.discovery.file) if config.discovery.file.files else None


def _pods(config: Config, env: Mapping[str, str]) -> Discovery | None:
    pods = config.discovery.kubernetes
    return kubernetes.connect(pods, env) if pods.enabled else None


def _processes(config: Config, _env: Mapping[str, str]) -> Discovery | None:
    table = ProcessTable(Path(config.host.root), float(os.sysconf("SC_CLK_TCK")))
    return EngineProcesses(config.discovery.processes, table) if config.discovery.processes.enabled else None


DISCOVERIES: dict[str, Maker] = {"file": _files, "kubernetes": _pods, "processes": _processes}


def discoveries(config: Config, env: Mapping[str, str]) -> dict[str, Discovery]:
    """Return the discoveries that are turned on."""
    made = {name: maker(config, env) for name, maker in DISCOVERIES.items()}
    return {name: discovery for name, discovery in made.items() if discovery is not None}

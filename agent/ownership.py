"""Ties processes, GPUs and instances together: whose process holds a GPU, what an instance's processes are.

An instance's processes are those below whoever listens on its port. Pods whose processes cannot be seen are tied by the
kubelet's pod-resources instead (`podresources`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from agent.config import TargetConfig
from agent.fetch import LOOPBACK
from agent.processes import ProcessTable, family, port_of
from agent.scrape import instance_of


@dataclass(frozen=True, slots=True)
class Owned:
    """What belongs to one instance on this machine."""

    pids: frozenset[int] = frozenset()
    gpus: tuple[str, ...] = ()
    started_at: float | None = None
    command: tuple[str, ...] = ()


@dataclass(slots=True)
class Ownership:
    """The newest look at the machine. `pod_gpus` gives GPU uuid → pod name where the kubelet tells."""

    table: ProcessTable
    targets: Callable[[], Sequence[TargetConfig]]
    local: Callable[[TargetConfig], bool]
    pod_gpus: Callable[[], Mapping[str, str]] = field(default=dict)
    _owned: dict[str, Owned] = field(default_factory=dict)
    _gpus: dict[str, str] = field(default_factory=dict)
    _pods: Mapping[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self) -> None:
        """Look at the processes again."""
        targets = [target for target in self.targets() if self.local(target)]
        processes = self.table.processes() if targets else {}
        ports = self.table.listeners(processes) if targets else {}
        for process in processes.values():
            port = port_of(process)
            if port is not None:
                ports.setdefault(port, process.pid)
        boot = self.table.boot_time()
        owned = {}
        for target in targets:
            pid = ports.get(urlsplit(target.url).port or 80)
            if pid is None or pid not in processes:
                continue
            started = None if boot is None else boot + processes[pid].started
            owned[instance_of(target)] = Owned(frozenset(family(pid, processes)), (), started, processes[pid].command)
        pods = self.pod_gpus()
        with self._lock:
            self._owned, self._pods = owned, pods

    def owner(self, gpu: str, pids: Sequence[int]) -> str | None:
        """Return the instance that a GPU serves, and remember it."""
        with self._lock:
            named = {instance_of(target): target for target in self.targets()}
            for name, target in named.items():
                if gpu in target.gpus:
                    return name
            for name, owned in self._owned.items():
                if not owned.pids.isdisjoint(pids):
                    self._gpus[gpu] = name
                    return name
            pod = self._pods.get(gpu)
            if pod in named:
                self._gpus[gpu] = str(pod)
                return pod
            self._gpus.pop(gpu, None)
            return None

    def gpus(self, instance: str) -> tuple[str, ...]:
        """Return the GPUs that an instance was last seen on."""
        with self._lock:
            return tuple(sorted(gpu for gpu, name in self._gpus.items() if name == instance))

    def owned(self, instance: str) -> Owned:
        with self._lock:
            return self._owned.get(instance, Owned())

    def engine_pids(self) -> list[int]:
        """Return the processes of all instances."""
        with self._lock:
            return sorted({pid for owned in self._owned.values() for pid in owned.pids})


def is_local(target: TargetConfig, host: str) -> bool:
    """Return whether a target runs on this machine."""
    return target.host == host or (target.host is None and urlsplit(target.url).hostname in LOOPBACK)

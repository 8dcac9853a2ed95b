"""Reads what the machine is doing from /proc and /sys: CPU, pressure, network, RDMA, disks; knows no container runtime.

Rates come from two readings, so the first row has none. What the kernel does not offer is missing, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

#: Bytes of one sector in /proc/diskstats, whatever the disk's own: Documentation/admin-guide/iostats.rst.
SECTOR = 512
#: Interfaces that carry no traffic of the machine itself: loopback, bridges and the ends of containers.
VIRTUAL = ("lo", "veth", "docker", "br-", "cni", "cali", "flannel", "virbr", "dummy", "ifb", "tunl", "lxc", "cilium")
#: Counters of an InfiniBand port count 32-bit words: Documentation/ABI/stable/sysfs-class-infiniband.
WORD = 4
PARTITIONS = ("loop", "ram", "zram", "dm-", "md", "sr", "nbd")
RDMA_ERRORS = ("symbol_error", "link_downed", "port_rcv_errors", "port_xmit_discards", "local_link_integrity_errors")


@dataclass(frozen=True, slots=True)
class Counters:
    """Cumulative readings of one moment; None = the kernel does not offer it."""

    cpu_busy: float | None = None
    cpu_all: float | None = None
    engine_cpu: float | None = None
    nic: tuple[float, float, float] | None = None
    rdma: tuple[float, float, float] | None = None
    disk_read: float | None = None


@dataclass(slots=True)
class HostReader:
    """The last reading of one machine. `root` is where its / is mounted; `engine_pids` are the engines' processes."""

    root: Path
    clock: Callable[[], float]
    engine_pids: Callable[[], Iterable[int]]
    ticks_per_second: float = 100.0
    _at: float = 0.0
    _last: Counters | None = None
    _cpu_by_pid: dict[int, float] = field(default_factory=dict)

    def row(self) -> dict[str, object]:
        """Return the columns of one `host_samples` row for the time since the last one."""
        now = self.clock()
        seconds = now - self._at
        found = self._read()
        row: dict[str, float | None] = {
            f"{name}_pressure_ratio": pressure(self.root / "proc/pressure" / name) for name in ("cpu", "memory", "io")
        }
        last = self._last
        if last is not None and seconds > 0:
            row["cpu_ratio"] = _share(found, last)
            row["engine_cpu_ratio"] = None if found.engine_cpu is None else found.engine_cpu / seconds
            row["disk_read_bytes_per_second"] = _rate(found.disk_read, last.disk_read, seconds)
            for kind, now_, before in (("nic", found.nic, last.nic), ("rdma", found.rdma, last.rdma)):
                if now_ is not None and before is not None:
                    row[f"{kind}_rx_bytes_per_second"] = _rate(now_[0], before[0], seconds)
                    row[f"{kind}_tx_bytes_per_second"] = _rate(now_[1], before[1], seconds)
                    row[f"{kind}_errors"] = _rate(now_[2], before[2], 1.0)
        self._at, self._last = now, found
        return {name: value for name, value in row.items() if value is not None}

    def _read(self) -> Counters:
        busy, every = self._cpu()
        return Counters(busy, every, self._engine_cpu(), self._nic(), self._rdma(), self._disk())

    def _cpu(self) -> tuple[float | None, float | None]:
        for line in lines(self.root / "proc/stat"):
            if line.startswith("cpu "):
                numbers = [float(word) for word in line.split()[1:9]]
                idle = numbers[3] + numbers[4]
                return sum(numbers) - idle, sum(numbers)
        return None, None

    def _engine_cpu(self) -> float | None:
        """Return CPU seconds of the engines' processes since the last reading; None when none is known."""
        now: dict[int, float] = {}
        for pid in self.engine_pids():
            words = stat_words(self.root, pid)
            if words:
                now[pid] = (float(words[11]) + float(words[12])) / self.ticks_per_second
        before, self._cpu_by_pid = self._cpu_by_pid, now
        if not now:
            return None
        return sum(max(0.0, seconds - before.get(pid, seconds)) for pid, seconds in now.items())

    def _nic(self) -> tuple[float, float, float] | None:
        total = [0.0, 0.0, 0.0]
        seen = False
        # The first process sees the machine's interfaces where the agent itself may be in a namespace of its own.
        for line in (lines(self.root / "proc/1/net/dev") or lines(self.root / "proc/net/dev"))[2:]:
            name, _, rest = line.partition(":")
            if name.strip().startswith(VIRTUAL):
                continue
            words = [float(word) for word in rest.split()]
            if len(words) < 12:
                continue
            seen = True
            total[0] += words[0]
            total[1] += words[8]
            total[2] += words[2] + words[3] + words[10] + words[11]
        return (total[0], total[1], total[2]) if seen else None

    def _rdma(self) -> tuple[float, float, float] | None:
        total = [0.0, 0.0, 0.0]
        seen = False
        for port in sorted((self.root / "sys/class/infiniband").glob("*/ports/*/counters")):
            received, sent = _integer(port / "port_rcv_data"), _integer(port / "port_xmit_data")
            if received is None or sent is None:
                continue
            seen = True
            total[0] += received * WORD
            total[1] += sent * WORD
            total[2] += sum(_integer(port / name) or 0 for name in RDMA_ERRORS)
        return (total[0], total[1], total[2]) if seen else None

    def _disk(self) -> float | None:
        total, seen = 0.0, False
        for line in lines(self.root / "proc/diskstats"):
            words = line.split()
            if len(words) < 6 or words[2].startswith(PARTITIONS) or _is_partition(words[2]):
                continue
            seen = True
            total += float(words[5]) * SECTOR
        return total if seen else None


def pressure(path: Path) -> float | None:
    """Return the share of the last 10 s in which some task waited, 0..1 (PSI)."""
    for line in lines(path):
        if line.startswith("some "):
            words = dict(word.split("=") for word in line.split()[1:])
            return float(words["avg10"]) / 100.0
    return None


def lines(path: Path) -> list[str]:
    """Return the lines of a small file; none when it is not there."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def stat_words(root: Path, pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the command's name (its first is the state)."""
    found = lines(root / f"proc/{pid}/stat")
    return found[0].rpartition(")")[2].split() if found else []


def _is_partition(name: str) -> bool:
    """Return whether a block device is a part of another one: sda1, vda2, nvme0n1p3."""
    if name.startswith(("nvme", "mmcblk")):
        return "p" in name.removeprefix("nvme").removeprefix("mmcblk")
    return name[:2] in {"sd", "vd", "hd", "xv"} and name[-1].isdigit()


def _integer(path: Path) -> int | None:
    found = lines(path)
    return int(found[0]) if found and found[0].strip().isdigit() else None


def _share(now: Counters, last: Counters) -> float | None:
    if now.cpu_busy is None or last.cpu_busy is None or now.cpu_all is None or last.cpu_all is None:
        return None
    every = now.cpu_all - last.cpu_all
    return min(1.0, max(0.0, (now.cpu_busy - last.cpu_busy) / every)) if every > 0 else None


def _rate(now: float | None, last: float | None, seconds: float) -> float | None:
    return None if now is None or last is None or now < last else (now - last) / seconds

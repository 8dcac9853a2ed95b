"""Finds engine processes: who listens on a port, who is whose child, since when; reads /proc only, signals nobody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.host import lines, stat_words

LISTENING = "0A"


@dataclass(frozen=True, slots=True)
class Process:
    """One process: `command` are its arguments, `started` is in seconds since the machine's boot."""

    pid: int
    parent: int
    command: tuple[str, ...]
    started: float


@dataclass(slots=True)
class ProcessTable:
    """The processes of a machine as one look found them."""

    root: Path
    ticks_per_second: float = 100.0

    def processes(self) -> dict[int, Process]:
        """Return every process that can be read."""
        found = {}
        for folder in (self.root / "proc").glob("[0-9]*"):
            pid = int(folder.name)
            words = stat_words(self.root, pid)
            if len(words) > 19:
                found[pid] = Process(pid, int(words[1]), self._command(pid), float(words[19]) / self.ticks_per_second)
        return found

    def boot_time(self) -> float | None:
        """Return Unix seconds of the boot."""
        for line in lines(self.root / "proc/stat"):
            if line.startswith("btime "):
                return float(line.split()[1])
        return None

    def listeners(self, processes: Iterable[int]) -> dict[int, int]:
        """Return port → process. Ports of processes whose files may not be read are missing."""
        sockets = dict(self._listening_sockets())
        found: dict[int, int] = {}
        if sockets:
            for pid in processes:
                for inode in self._sockets_of(pid):
                    if inode in sockets:
                        found.setdefault(sockets[inode], pid)
        return found

    def _listening_sockets(self) -> Iterator[tuple[str, int]]:
        for name in ("tcp", "tcp6"):
            for line in lines(self.root / "proc/net" / name)[1:]:
                words = line.split()
                if len(words) > 9 and words[3] == LISTENING:
                    yield words[9], int(words[1].rpartition(":")[2], 16)

    def _sockets_of(self, pid: int) -> Iterator[str]:
        try:
            for link in (self.root / f"proc/{pid}/fd").iterdir():
                try:
                    name = str(link.readlink())
                except OSError:
                    continue
                if name.startswith("socket:["):
                    yield name[8:-1]
        except OSError:
            return

    def _command(self, pid: int) -> tuple[str, ...]:
        found = lines(self.root / f"proc/{pid}/cmdline")
        return tuple(found[0].rstrip("\0").split("\0")) if found else ()


def port_of(process: Process) -> int | None:
    """Return the port that a command line names: `--port 8000`, `--port=8000`, `--http-port 8000`."""
    words = process.command
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in {"--port", "--http-port", "--http_port"}:
            text = value if equals else words[place + 1] if place + 1 < len(words) else ""
            if text.isdigit():
                return int(text)
    return None


def family(pid: int, processes: dict[int, Process]) -> set[int]:
    """Return a process and everything below it."""
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    found, todo = set(), [pid]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo.extend(children.get(one, ()))
    return found

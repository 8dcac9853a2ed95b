"""The bad hour, with a shortened clock: collector away and killed, agent killed, disk nearly full; counts what is lost.

Scrapes come a hundred times faster than in life, so an hour's batches gather in 36 s. Nothing is lost if every number
of every life of the agent arrives, nothing is stored twice if the ledger saw it once, and the tokens that arrived are
those that the pages showed.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.spool import METRICS, Spool
from benchmarks.agentlab.rig import Rig, gpu_state

ENGINES = 8
#: An hour of eight engines and their host takes about 20 MB.
DISK_MB = 32
#: 5 s in life.
INTERVAL_SECONDS = 0.05
#: Batches a second in life: each engine, the GPUs and the host every 5 s.
BATCHES_PER_SECOND = (ENGINES + 2) / 5.0


class SmallDisk:
    """A disk that the backlog nearly fills, mounted over a folder where that is allowed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(folder)]
        self.mounted = (
            shutil.which("mount") is not None
            and not subprocess.run(command, capture_output=True, check=False).returncode
        )

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "--lazy", str(self.folder)], capture_output=True, check=False)


@dataclass(frozen=True, slots=True)
class Outage:
    """What an outage cost."""

    batches: int
    missing: int
    resent: int
    token_error: float
    catch_up: float
    drain_seconds: float
    sigterm_seconds: float
    small_disk: bool


def bad_hour(make: Callable[[], Rig], seconds: float) -> Outage:
    """Run the experiment; `seconds` is the length of the outage on the real clock."""
    rig = make()
    disk = SmallDisk(rig.folder / "spool")
    try:
        (rig.folder / "gpus").write_text(gpu_state(2, 0))
        rig.start_pages()
        sink = rig.start_sink()
        # A cap that the backlog stays below, on a disk that it would not fit on uncompressed.
        sections = {"gpu": {"row": "50ms", "tick": "50ms"}, "host": {"interval": "50ms"}}
        config = rig.config(
            rig.engines(ENGINES, f"{INTERVAL_SECONDS * 1000:.0f}ms"), agent={"spool_max_bytes": "200MB"}, **sections
        )
        agent = rig.start_agent(config)
        time.sleep(3.0)
        sink.end(signal.SIGKILL)
        time.sleep(seconds / 2)
        agent.end(signal.SIGKILL)
        agent = rig.start_agent(config)
        time.sleep(seconds / 2)
        rig.start_sink()
        began = time.monotonic()
        backlog = waiting = rig.own_metrics()["sloscope_agent_spool_batches"]
        while waiting > ENGINES * 4 and time.monotonic() - began < 120:
            time.sleep(0.1)
            waiting = rig.own_metrics()["sloscope_agent_spool_batches"]
        drained = time.monotonic() - began
        rig.freeze()
        stopped = agent.end(signal.SIGTERM)
        # What the last life left on disk is delivered by the next one.
        last = rig.start_agent(rig.config([], gpu={"enabled": "no"}, host={"enabled": False}))
        while rig.own_metrics()["sloscope_agent_spool_batches"] and time.monotonic() - began < 150:
            time.sleep(0.1)
        last.end(signal.SIGTERM)
        return _account(rig, backlog, drained, stopped, disk)
    finally:
        rig.close()
        disk.close()


def killed(make: Callable[[], Rig]) -> int:
    """Kill the agent with SIGKILL while the collector is away; return how many scrapes never reached the disk.

    Every page that went out is a batch, on disk or delivered, but for those that were in the agent's hands.
    """
    rig = make()
    try:
        (rig.folder / "gpus").write_text(gpu_state(2, 0))
        rig.start_pages()
        sink = rig.start_sink()
        config = rig.config(rig.engines(ENGINES, "500ms"))
        agent = rig.start_agent(config)
        time.sleep(3.0)
        sink.end(signal.SIGKILL)
        time.sleep(3.0)
        agent.end(signal.SIGKILL)
        served = sum(rig.served()["served"].values())
        stored = _on_disk(rig.folder / "spool" / "s.db")
        rig.start_sink()
        delivered = sum(int(row[0]) for row in rig.books()["sums"].values())
        return max(0, served - stored - delivered)
    finally:
        rig.close()


def _on_disk(path: Path) -> int:
    """Return the scrapes that wait in a spool of a dead agent and were not delivered."""
    spool = Spool(path, "reader", "reader", 10**12, 1e12, time.time_ns, lambda _reason, _number: None).open()
    try:
        waiting = spool.waiting(METRICS, 10**9)
        return sum(b"sloscope.scrape_state" in found.batch.attributes for found in waiting)
    finally:
        spool.close()


def _account(rig: Rig, backlog: float, drained: float, stopped: float, disk: SmallDisk) -> Outage:
    books, served = rig.books(), rig.served()
    epochs = books["epochs"]
    missing = sum(int(row[2]) - int(row[1]) for row in epochs)
    sums = books["sums"]
    shown = {f"vllm-{n}": served["last"][n] - served["first"][n] for n in served["last"]}
    arrived = {name: sums[name][2] for name in shown}
    total = sum(shown.values())
    error = sum(abs(shown[name] - arrived[name]) for name in shown) / total
    return Outage(
        int(sum(int(row[1]) for row in epochs)),
        missing,
        int(books["counts"].get("resent", 0)),
        error,
        backlog / BATCHES_PER_SECOND / drained,
        drained,
        stopped,
        disk.mounted,
    )


def lines(found: Outage) -> list[str]:
    """Return what people want to know beside the figures."""
    return [
        f"{found.batches} batches through an outage; {found.resent} resent and recognised",
        f"tokens shown by the pages and not by the store: {found.token_error:.2e}",
        f"backlog drained in {found.drain_seconds:.1f} s",
        f"the spool lay on a disk of {DISK_MB} MB" if found.small_disk else "no small disk: that takes root",
    ]

"""Examines the GPUs for `doctor`: driver, performance counters, who may read them; waits for no hung GPU."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.gpus.form import ERROR, REFUSED, SUPPORTED, UNSUPPORTED, Tick
from agent.gpus.gpm import GpmReader
from agent.gpus.nvml import MISMATCH, NO_LIBRARY, UNLOADED, Device, Driver, DriverError

HUNG_SECONDS = 3.0
RESTRICTED = "RmProfilingAdminOnly: 1"
REMEDIES = {
    REFUSED: "give the agent CAP_SYS_ADMIN (CAP_PERFMON from driver R565), or load the driver with "
    "NVreg_RestrictProfilingToAdminUsers=0; docs/how-to/gpu-permissions.md",
    ERROR: "another tool may hold the counters, or the GPU is in trouble: see `dmesg` for XID errors",
}
NOTES = {
    SUPPORTED: "performance counters answer",
    UNSUPPORTED: "no performance counters in this driver or before Hopper: SM and DRAM bandwidth stay empty; scrape "
    "dcgm-exporter for them",
    REFUSED: "performance counters are refused",
    ERROR: "performance counters fail",
}


@dataclass(frozen=True, slots=True)
class Found:
    """One examined thing of the GPUs."""

    what: str
    good: bool
    note: str
    remedy: str = ""


def examine_gpus(driver: Driver | None, root: Path, wait: float = 0.15) -> Iterator[Found]:
    """Yield what there is to say; `wait` is the time between the two samples that the counters need."""
    if driver is None:
        yield Found("gpu", True, "nvidia-ml-py is not installed: no GPU is read")
        return
    try:
        driver.open()
        count, version = driver.count(), driver.version()
    except DriverError as error:
        yield _no_driver(error)
        return
    restricted = RESTRICTED in _text(root / "proc/driver/nvidia/params")
    note = f"driver {version}, {count} GPUs" + (", counters restricted to administrators" if restricted else "")
    yield Found("gpu driver", True, note)
    for index in range(count):
        found: list[Found] = []
        thread = threading.Thread(target=_one, args=(driver, index, wait, found), daemon=True)
        thread.start()
        thread.join(HUNG_SECONDS)
        yield found[0] if found else Found(f"gpu {index}", False, "the driver does not answer", "drain and reset it")


def _one(driver: Driver, index: int, wait: float, found: list[Found]) -> None:
    """Examine one GPU; called in a thread of its own."""
    try:
        device = driver.device(index)
        state = _counters(device, wait)
    except DriverError as error:
        found.append(Found(f"gpu {index}", False, str(error), "drain and reset it; the agent goes on with the others"))
        return
    good = state in {SUPPORTED, UNSUPPORTED}
    found.append(Found(f"gpu {index}", good, f"{device.name}: {NOTES[state]}", REMEDIES.get(state, "")))


def _no_driver(error: DriverError) -> Found:
    if error.code in {NO_LIBRARY, UNLOADED}:
        return Found("gpu driver", True, "no NVIDIA driver here: no GPU is read")
    remedy = "restart the agent" if error.code == MISMATCH else "see `nvidia-smi`"
    note = "the driver was replaced and its library is of another version" if error.code == MISMATCH else str(error)
    return Found("gpu driver", False, note, remedy)


def _counters(device: Device, wait: float) -> str:
    """Return what the performance counters of one GPU say to two samples."""
    reader = GpmReader()
    for number in range(2):
        reader.read(device, Tick(time.monotonic(), number))
        if reader.state != SUPPORTED:
            break
        time.sleep(wait)
    return reader.state or ERROR


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

"""Checks the GPU readers against known work on a real GPU: a copy of known size, idleness, milliseconds a tick.

Needs an NVIDIA GPU of Hopper or later; the work is done through libcuda. Run `python -m benchmarks.gpu_truth`; it
prints a table and writes build/bench/gpu_truth.json. Without a GPU it says so and writes nothing.
"""

from __future__ import annotations

import argparse
import ctypes
import threading
import time
from collections.abc import Callable
from statistics import mean, median

from agent.gpus.form import SUPPORTED, Tick
from agent.gpus.nvml import Device, DriverError, load_driver
from agent.gpus.registry import new_readers
from benchmarks.report import Row, write

#: Peak DRAM bandwidth by part of the name, bytes per second (vendor data sheets).
PEAKS = {"H200": 4.8e12, "H100 PCIe": 2.0e12, "H100": 3.35e12, "GH200": 4.0e12, "B200": 8.0e12, "H20": 4.0e12}
COPY_BYTES = 1 << 30


class CudaCopies:
    """Device-to-device copies through the CUDA runtime alone; counts the bytes it moved (each is read and written)."""

    def __init__(self, device: int) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        handle = ctypes.c_int()
        self._context = ctypes.c_void_p()
        self._check(self._cuda.cuInit(0))
        self._check(self._cuda.cuDeviceGet(ctypes.byref(handle), device))
        self._check(self._cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self._context), handle))
        self._check(self._cuda.cuCtxSetCurrent(self._context))
        self._from, self._to = ctypes.c_uint64(), ctypes.c_uint64()
        for place in (self._from, self._to):
            self._check(self._cuda.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(COPY_BYTES)))
        self.moved = 0

    def run(self, until: Callable[[], bool]) -> None:
        """Copy until told to stop; called in a thread of its own."""
        self._check(self._cuda.cuCtxSetCurrent(self._context))
        while not until():
            for _ in range(16):
                self._check(self._cuda.cuMemcpyDtoDAsync_v2(self._to, self._from, ctypes.c_size_t(COPY_BYTES), None))
            self._check(self._cuda.cuCtxSynchronize())
            self.moved += 16 * 2 * COPY_BYTES

    @staticmethod
    def _check(code: int) -> None:
        if code:
            raise RuntimeError(f"CUDA error {code}")


def ticks(device: Device, number: int) -> tuple[list[Tick], list[float]]:
    """Return ticks a second apart and the milliseconds that each took."""
    readers = new_readers(True)
    found, spent = [], []
    for place in range(number):
        begun = time.monotonic()
        tick = Tick(begun, place)
        for reader in readers:
            reader.read(device, tick)
        spent.append((time.monotonic() - begun) * 1e3)
        found.append(tick)
        time.sleep(max(0.0, 1.0 - (time.monotonic() - begun)))
    return found[1:], spent


def peak_of(name: str) -> float | None:
    return next((peak for part, peak in PEAKS.items() if part in name), None)


def main() -> None:
    """Run the checks on one GPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=10)
    asked = parser.parse_args()
    driver = load_driver()
    try:
        if driver is None:
            raise DriverError(12, "import pynvml")
        driver.open()
        device = driver.device(asked.gpu)
    except DriverError as error:
        print(f"no GPU can be read here: {error}")
        return
    print(f"{device.name}, driver {driver.version()}")
    idle, spent = ticks(device, asked.seconds)
    rows = [
        Row("tick_ms_median", median(spent), "ms"),
        Row("tick_ms_max", max(spent), "ms"),
        Row("gpm_supported", float(idle[-1].gpm_state == SUPPORTED), ""),
    ]
    if idle[-1].gpm_state == SUPPORTED:
        rows += measured(device, asked.gpu, asked.seconds, idle)
    else:
        print(f"performance counters: {idle[-1].gpm_state}")
    write("gpu_truth", rows)


def measured(device: Device, index: int, seconds: int, idle: list[Tick]) -> list[Row]:
    """Return what the counters say of idleness and of copies whose size is known."""
    rows = [Row("sm_active_idle", mean(tick.values.get("sm_active_ratio", 0.0) for tick in idle), "")]
    copies = CudaCopies(index)
    stop = threading.Event()
    worker = threading.Thread(target=copies.run, args=(stop.is_set,), daemon=True)
    worker.start()
    time.sleep(2.0)
    before, began = copies.moved, time.monotonic()
    busy, _ = ticks(device, seconds)
    rate = (copies.moved - before) / (time.monotonic() - began)
    stop.set()
    worker.join(10.0)
    told = mean(tick.values["dram_bandwidth_ratio"] for tick in busy if "dram_bandwidth_ratio" in tick.values)
    rows.append(Row("dram_bandwidth_ratio_told", told, ""))
    rows.append(Row("copy_bytes_per_second", rate, "B/s"))
    peak = peak_of(device.name or "")
    if peak is not None:
        known = rate / peak
        rows.append(Row("dram_bandwidth_ratio_known", known, ""))
        rows.append(Row("dram_bandwidth_error", told / known - 1.0, ""))
    rows.append(Row("sm_active_copying", mean(tick.values.get("sm_active_ratio", 0.0) for tick in busy), ""))
    return rows


if __name__ == "__main__":
    main()

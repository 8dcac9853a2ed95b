"""Reads how much memory is used, and for what share of time memory was busy; never a bandwidth."""

from __future__ import annotations

from dataclasses import dataclass

from agent.gpus.form import Tick
from agent.gpus.nvml import Device


@dataclass(slots=True)
class MemoryReader:
    """Memory of one device."""

    def read(self, device: Device, tick: Tick) -> None:
        found = device.memory() if tick.slow else None
        if found is not None:
            tick.put("memory_used_bytes", float(found[0]))
            tick.put("memory_total_bytes", float(found[1]))
        if device.mig is None:
            tick.put("memory_busy_ratio", device.memory_busy())

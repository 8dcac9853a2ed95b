"""Reads temperature, clocks and why they are held down at this moment."""

from __future__ import annotations

from dataclasses import dataclass

from agent.gpus.form import Tick
from agent.gpus.nvml import MEMORY_CLOCK, SM_CLOCK, Device

#: nvmlClocksEventReasons (nvml.h); idle and settings by people are no throttling.
REASONS: tuple[tuple[int, str], ...] = (
    (0x4, "sw_power_cap"),
    (0x8, "hw_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal_slowdown"),
    (0x40, "hw_thermal_slowdown"),
    (0x80, "hw_power_brake"),
    (0x200, "board_limit"),
    (0x400, "reliability"),
)


@dataclass(slots=True)
class ClockReader:
    """Clocks of one device."""

    def read(self, device: Device, tick: Tick) -> None:
        if device.mig is not None:
            return
        if tick.slow:
            tick.put("temperature_celsius", device.temperature())
            tick.put("memory_clock_mhz", device.clock(MEMORY_CLOCK))
        tick.put("sm_clock_mhz", device.clock(SM_CLOCK))
        mask = device.reasons()
        if mask is not None:
            tick.reasons.update(name for bit, name in REASONS if mask & bit)

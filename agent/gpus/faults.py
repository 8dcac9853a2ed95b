"""Reads uncorrected memory errors and remapped rows, every fifth tick: they change a few times in a GPU's life."""

from __future__ import annotations

from dataclasses import dataclass

from agent.gpus.form import Tick
from agent.gpus.nvml import Device


@dataclass(slots=True)
class FaultReader:
    """Memory faults of one device."""

    def read(self, device: Device, tick: Tick) -> None:
        if device.mig is not None or not tick.slow:
            return
        tick.put("ecc_uncorrected", device.ecc_uncorrected())
        tick.put("remapped_rows", device.remapped_rows())

"""The form of every GPU reader: given a device, what one tick of it says; a reader holds only its own last sample.

To add one: copy the nearest sibling, add a line to the registry. A reader writes numbers under the column names of
`gpu_samples`, leaves out what the GPU does not say, and raises DriverError only when the GPU itself is in trouble.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from agent.gpus.nvml import Device

#: Ticks between readings of what changes slowly: memory, temperature, faults. The first tick reads everything.
SLOW_TICKS = 5
SUPPORTED, UNSUPPORTED, REFUSED, ERROR = "supported", "unsupported", "no_permission", "error"


@dataclass(slots=True)
class Tick:
    """What one tick says: `values` by column, energy since the driver was loaded, and reasons for low clocks."""

    at: float
    number: int
    values: dict[str, float] = field(default_factory=dict)
    energy_total_joules: float | None = None
    reasons: set[str] = field(default_factory=set)
    gpm_state: str | None = None

    @property
    def slow(self) -> bool:
        """Return whether slow columns are read on this tick."""
        return self.number % SLOW_TICKS == 0

    def put(self, column: str, value: float | None) -> None:
        if value is not None and value == value:
            self.values[column] = value

    def prefer(self, column: str, value: float | None) -> None:
        """Put a value unless a better reader already did."""
        if column not in self.values:
            self.put(column, value)


class Reader(Protocol):
    """Reads one aspect of one device."""

    def read(self, device: Device, tick: Tick) -> None:
        """Add what the device says now to a tick."""


Factory = Callable[[], Reader]

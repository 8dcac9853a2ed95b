"""Every GPU reader by name, in the order in which they fill a tick: the better source of a column comes first."""

from __future__ import annotations

from agent.gpus.clocks import ClockReader
from agent.gpus.counters import CounterReader
from agent.gpus.faults import FaultReader
from agent.gpus.form import Factory, Reader
from agent.gpus.gpm import GpmReader
from agent.gpus.memory import MemoryReader

READERS: dict[str, Factory] = {
    "gpm": GpmReader,
    "memory": MemoryReader,
    "counters": CounterReader,
    "clocks": ClockReader,
    "faults": FaultReader,
}


def new_readers(gpm: bool) -> list[Reader]:
    """Return readers for one device; `gpm` off leaves the performance counters to other tools."""
    return [factory() for name, factory in READERS.items() if gpm or name != "gpm"]

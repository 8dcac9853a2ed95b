"""Reads NVML's fields: power, energy, link traffic where GPM has none, and how long clocks were held down.

Traffic counters become rates over the time since the last tick; a counter that fell has wrapped or was reset, and that
tick has no rate.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.gpus.form import Tick
from agent.gpus.nvml import ALL_LINKS, Device

POWER_INSTANT, ENERGY = 186, 83
PCIE_TX, PCIE_RX = 197, 198
NVLINK_TX, NVLINK_RX = (138, ALL_LINKS), (139, ALL_LINKS)
KIBIBYTE = 1024.0
#: Nanoseconds that a reason held clocks down (NVML_FI_DEV_PERF_POLICY_*, NVML_FI_DEV_CLOCKS_EVENT_REASON_*).
HELD: tuple[tuple[int, str], ...] = (
    (74, "sw_power_cap"),
    (76, "sync_boost"),
    (269, "sw_thermal_slowdown"),
    (270, "hw_thermal_slowdown"),
    (271, "hw_power_brake"),
)
RATES: tuple[tuple[str, int | tuple[int, int], float], ...] = (
    ("pcie_tx_bytes_per_second", PCIE_TX, 1.0),
    ("pcie_rx_bytes_per_second", PCIE_RX, 1.0),
    ("nvlink_tx_bytes_per_second", NVLINK_TX, KIBIBYTE),
    ("nvlink_rx_bytes_per_second", NVLINK_RX, KIBIBYTE),
)
WANTED: tuple[int | tuple[int, int], ...] = (
    POWER_INSTANT,
    ENERGY,
    *(number for _, number, _ in RATES),
    *(number for number, _ in HELD),
)


@dataclass(slots=True)
class CounterReader:
    """The last counters of one device."""

    _at: float = 0.0
    _last: list[float | None] = field(default_factory=list)

    def read(self, device: Device, tick: Tick) -> None:
        if device.mig is not None:
            return
        found = device.fields(WANTED)
        power, energy, counters = found[0], found[1], found[2:]
        tick.put("power_watts", power / 1000.0 if power is not None else device.power_watts())
        tick.energy_total_joules = energy / 1000.0 if energy is not None else device.energy_joules()
        seconds = tick.at - self._at
        if self._last and seconds > 0:
            grown = [
                now - before if now is not None and before is not None and now >= before else None
                for now, before in zip(counters, self._last, strict=True)
            ]
            for (column, _, factor), growth in zip(RATES, grown, strict=False):
                tick.prefer(column, None if growth is None else growth * factor / seconds)
            for (_, reason), growth in zip(HELD, grown[len(RATES) :], strict=True):
                if growth:
                    tick.reasons.add(reason)
        self._at, self._last = tick.at, counters

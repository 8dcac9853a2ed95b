"""Sums the ticks of one device up into one row of `gpu_samples`: means, and maxima where a column for them exists."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.gpus.form import Tick

MAXIMA = ("sm_active_ratio", "sm_occupancy_ratio", "tensor_active_ratio", "dram_bandwidth_ratio")
#: Columns of which the last value counts.
LAST = ("memory_total_bytes", "ecc_uncorrected", "remapped_rows")
WHOLE = ("memory_used_bytes", "memory_total_bytes", "ecc_uncorrected", "remapped_rows")


@dataclass(slots=True)
class Summary:
    """Ticks since the last row; the last energy and the last slow columns are carried over."""

    ticks: int = 0
    gpm_state: str | None = None
    _sums: dict[str, float] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    _maxima: dict[str, float] = field(default_factory=dict)
    _last: dict[str, float] = field(default_factory=dict)
    _reasons: set[str] = field(default_factory=set)
    _energy: float | None = None
    _energy_before: float | None = None

    def add(self, tick: Tick) -> None:
        self.ticks += 1
        self.gpm_state = tick.gpm_state or self.gpm_state
        for column, value in tick.values.items():
            if column in LAST:
                self._last[column] = value
                continue
            self._sums[column] = self._sums.get(column, 0.0) + value
            self._counts[column] = self._counts.get(column, 0) + 1
            if column in MAXIMA:
                self._maxima[column] = max(value, self._maxima.get(column, value))
        self._reasons |= tick.reasons
        if tick.energy_total_joules is not None:
            if self._energy_before is None:
                self._energy_before = tick.energy_total_joules
            self._energy = tick.energy_total_joules

    def take(self) -> dict[str, object]:
        """Return the row's columns and begin the next one."""
        row: dict[str, object] = {column: total / self._counts[column] for column, total in self._sums.items()}
        row.update({f"{column}_max": value for column, value in self._maxima.items()})
        row.update(self._last)
        for column in WHOLE:
            value = row.get(column)
            if isinstance(value, float):
                row[column] = round(value)
        if self._energy is not None and self._energy_before is not None and self._energy >= self._energy_before:
            row["energy_joules"] = self._energy - self._energy_before
        if self.ticks:
            row["throttle_reasons"] = tuple(sorted(self._reasons))
        if self.gpm_state:
            row["gpm_state"] = self.gpm_state
        self.ticks = 0
        self._sums, self._counts, self._maxima, self._reasons = {}, {}, {}, set()
        self._energy_before = self._energy
        return row

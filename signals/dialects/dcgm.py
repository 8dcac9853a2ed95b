"""The DCGM exporter's words: `gpu_samples` for GPUs whose NVML has no performance counters (Volta to Ada).

Field names and units are from the exporter's shipped counter lists and DCGM's field reference, older aliases included;
not tried against a running exporter. Traps: a blank field prints as an enormous number; `MEM_COPY_UTIL` is a share of
time, not of bandwidth; profiling fields are rates whatever TYPE says; the XID gauge never clears and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from signals.dialects.form import COUNTER, GAUGE, Dialect, Rule
from signals.readings import Increments

#: Smallest blank value of DCGM (DCGM_FP64_BLANK, dcgm_structs.h); integer blanks are larger.
BLANK = 140_737_488_355_328.0
_MIB, _PERCENT = 1_048_576.0, 0.01
_BY = {"UUID": "gpu", "uuid": "gpu", "gpu": "index", "GPU_I_ID": "mig", "Hostname": "host"}
_VIEW = "gpu_samples."
#: Bits of `nvmlClocksEventReasons` (nvml.h); idle clocks and clocks that people set are no throttling.
THROTTLE_BITS: Mapping[int, str] = {
    0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x10: "sync_boost", 0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown", 0x80: "hw_power_brake",
}  # fmt: skip


def _field(column: str, *names: str, scale: float = 1.0, unless: tuple[str, ...] = (), expected: bool = False) -> Rule:
    raw = tuple(f"DCGM_FI_{name}" for name in names)
    return Rule(
        _VIEW + column, raw, GAUGE, by=_BY, scale=scale, floor=0.0, ceiling=BLANK, unless=unless, expected=expected
    )


_TOTAL = ("DCGM_FI_DEV_FB_TOTAL",)

RULES: tuple[Rule, ...] = (
    _field("sm_active_ratio", "PROF_SM_ACTIVE"),
    _field("sm_occupancy_ratio", "PROF_SM_OCCUPANCY"),
    _field("tensor_active_ratio", "PROF_PIPE_TENSOR_ACTIVE"),
    _field("dram_bandwidth_ratio", "PROF_DRAM_ACTIVE"),
    _field("memory_busy_ratio", "DEV_MEM_COPY_UTIL", scale=_PERCENT),
    _field("pcie_tx_bytes_per_second", "PROF_PCIE_TX_BYTES"),
    _field("pcie_rx_bytes_per_second", "PROF_PCIE_RX_BYTES"),
    _field("nvlink_tx_bytes_per_second", "PROF_NVLINK_TX_BYTES"),
    _field("nvlink_rx_bytes_per_second", "PROF_NVLINK_RX_BYTES"),
    _field("memory_used_bytes", "DEV_FB_USED", scale=_MIB, expected=True),
    _field("memory_total_bytes", "DEV_FB_TOTAL", scale=_MIB),
    _field("memory_total_bytes", "DEV_FB_USED", scale=_MIB, unless=_TOTAL),
    _field("memory_total_bytes", "DEV_FB_FREE", scale=_MIB, unless=_TOTAL),
    _field("memory_total_bytes", "DEV_FB_RESERVED", scale=_MIB, unless=_TOTAL),
    _field("power_watts", "DEV_POWER_USAGE"),
    _field("temperature_celsius", "DEV_GPU_TEMP"),
    _field("sm_clock_mhz", "DEV_SM_CLOCK"),
    _field("memory_clock_mhz", "DEV_MEM_CLOCK"),
    _field("throttle_reasons", "DEV_CLOCKS_EVENT_REASONS", "DEV_CLOCK_THROTTLE_REASONS"),
    _field("ecc_uncorrected", "DEV_ECC_DBE_VOL_TOTAL"),
    _field("remapped_rows", "DEV_UNCORRECTABLE_REMAPPED_ROWS"),
    Rule(f"{_VIEW}energy_joules", ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",), COUNTER, by=_BY, scale=1e-3),
)

DCGM = Dialect(
    engine="dcgm",
    title="DCGM exporter",
    prefixes=("DCGM_FI_", "DCGM_EXP_"),
    rules=RULES,
    gateway=True,
    default_role=None,
    ignored=("DCGM_FI_*", "DCGM_EXP_*"),
    tested=False,
)


def gpu_rows(increments: Increments) -> tuple[dict[str, object], ...]:
    """Return one row of `gpu_samples` columns for each GPU and MIG instance of a page, without `ts`.

    `host` is the exporter's own word for it. Fill in only what NVML left empty: a GPU has one row.
    """
    rows: dict[tuple[str, str], dict[str, object]] = {}
    for found in (increments.gauges, increments.counters):
        for (signal, attributes), value in found.items():
            have = dict(attributes)
            if not signal.startswith(_VIEW) or "gpu" not in have or value is None:
                continue
            row = rows.setdefault(
                (have["gpu"], have.get("mig", "")),
                {
                    "gpu": have["gpu"],
                    "index": int(have["index"]) if have.get("index", "").isdigit() else None,
                    "mig": have.get("mig"),
                    "host": have.get("host"),
                    "state": "ok",
                    "gpm_state": "unsupported",
                },
            )
            column = signal.removeprefix(_VIEW)
            row[column] = _reasons(int(value)) if column == "throttle_reasons" else value
    return tuple(rows.values())


def _reasons(mask: int) -> list[str]:
    return [name for bit, name in THROTTLE_BITS.items() if mask & bit]

"""Calls NVIDIA's driver library in plain types; one error with a code, None for what a GPU cannot say.

Function names that newer drivers renamed are tried in order. Everything here may block for ever when a GPU hangs: call
it only from that GPU's own thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TypeVar

#: Codes of nvmlReturn_t (nvml.h).
NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, UNLOADED, NO_LIBRARY, NO_FUNCTION = 3, 4, 6, 9, 12, 13
LOST, RESET_REQUIRED, MISMATCH, NO_DATA, NOT_READY = 15, 16, 18, 21, 27
INVALID_ARGUMENT, UNINITIALIZED, TIMEOUT, UNKNOWN = 2, 1, 10, 999
#: Codes that mean that one number is missing, not that the GPU is.
SILENT = frozenset({NOT_SUPPORTED, NO_FUNCTION, NO_DATA, NOT_FOUND, NOT_READY, INVALID_ARGUMENT, 14, 25, 26})
GONE = frozenset({LOST, RESET_REQUIRED, 28})
#: NVML field ids scoped to all links of a GPU: scope 0 would be the first link alone.
ALL_LINKS = 0xFFFFFFFF
MEMORY_V2 = 0x02000028
UNCORRECTED, VOLATILE = 1, 0
CORE_SENSOR, SM_CLOCK, MEMORY_CLOCK = 0, 1, 2
XID_EVENTS = 8

R = TypeVar("R")


class DriverError(Exception):
    """The driver refused a call."""

    def __init__(self, code: int, call: str) -> None:
        super().__init__(f"{call}: NVML error {code}")
        self.code = code
        self.call = call

    @property
    def gone(self) -> bool:
        return self.code in GONE


@dataclass(slots=True)
class Driver:
    """The driver library, loaded once; `module` is pynvml."""

    module: ModuleType
    absent: set[str] = field(default_factory=set)

    def open(self) -> None:
        """Connect to the driver. Raise DriverError."""
        self.call(self.module.nvmlInit)

    def close(self) -> None:
        self.call(self.module.nvmlShutdown)

    def version(self) -> str:
        return str(self.call(self.module.nvmlSystemGetDriverVersion))

    def count(self) -> int:
        return int(self.call(self.module.nvmlDeviceGetCount))

    def device(self, index: int) -> Device:
        """Return the GPU at an index. Raise DriverError when it is lost."""
        handle = self.call(self.module.nvmlDeviceGetHandleByIndex, index)
        uuid = str(self.call(self.module.nvmlDeviceGetUUID, handle))
        name = self.maybe("nvmlDeviceGetName", handle)
        return Device(self, handle, index, uuid, None if name is None else str(name))

    def call(self, function: Callable[..., R], *arguments: object) -> R:
        """Call the driver; translate its error."""
        try:
            return function(*arguments)
        except self.module.NVMLError as error:
            raise DriverError(int(error.value), function.__name__) from error

    def maybe(self, name: str, *arguments: object) -> object:
        """Call a function by name; None when the driver or the GPU has no answer."""
        if name in self.absent:
            return None
        try:
            return self.call(getattr(self.module, name), *arguments)
        except AttributeError:
            self.absent.add(name)
        except DriverError as error:
            if error.code not in SILENT and error.code != NO_PERMISSION:
                raise
            if error.code == NO_FUNCTION:
                self.absent.add(name)
        return None

    def first(self, calls: Sequence[tuple[str, tuple[object, ...]]]) -> object:
        """Return the answer of the first function that has one."""
        for name, arguments in calls:
            found = self.maybe(name, *arguments)
            if found is not None:
                return found
        return None


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU, or one MIG instance (`mig` is its UUID, `instance_id` its GPU instance, `parent` the whole GPU)."""

    driver: Driver
    handle: object
    index: int
    uuid: str
    name: str | None
    mig: str | None = None
    instance_id: int | None = None
    parent: object = None

    def migs(self) -> list[Device]:
        """Return the MIG instances; none when MIG is off."""
        mode = self.driver.maybe("nvmlDeviceGetMigMode", self.handle)
        if not isinstance(mode, list | tuple) or not mode[0]:
            return []
        most = self.driver.maybe("nvmlDeviceGetMaxMigDeviceCount", self.handle)
        found = []
        for index in range(int(str(most or 0))):
            handle = self.driver.maybe("nvmlDeviceGetMigDeviceHandleByIndex", self.handle, index)
            if handle is None:
                continue
            instance = self.driver.maybe("nvmlDeviceGetGpuInstanceId", handle)
            uuid = str(self.driver.maybe("nvmlDeviceGetUUID", handle))
            number = None if instance is None else int(str(instance))
            found.append(Device(self.driver, handle, self.index, self.uuid, self.name, uuid, number, self.handle))
        return found

    def memory(self) -> tuple[int, int] | None:
        """Return bytes used and total; the first version of the call counts reserved memory as used."""
        found = self.driver.first(
            [("nvmlDeviceGetMemoryInfo", (self.handle, MEMORY_V2)), ("nvmlDeviceGetMemoryInfo", (self.handle,))]
        )
        return None if found is None else (int(found.used), int(found.total))  # type: ignore[attr-defined]  # a C structure

    def memory_busy(self) -> float | None:
        """Return the share of time with memory traffic, 0..1; this is no bandwidth."""
        found = self.driver.maybe("nvmlDeviceGetUtilizationRates", self.handle)
        return None if found is None else float(found.memory) / 100.0  # type: ignore[attr-defined]  # a C structure

    def fields(self, wanted: Sequence[int | tuple[int, int]]) -> list[float | None]:
        """Return the values of NVML fields (ids, or ids with a scope)."""
        answers = self.driver.maybe("nvmlDeviceGetFieldValues", self.handle, list(wanted))
        if answers is None:
            return [None] * len(wanted)
        return [
            _field_value(answer) if answer.nvmlReturn == 0 else None
            for answer in answers  # type: ignore[attr-defined]  # a C array
        ]

    def temperature(self) -> float | None:
        calls = [
            ("nvmlDeviceGetTemperatureV", (self.handle, CORE_SENSOR)),
            ("nvmlDeviceGetTemperature", (self.handle, CORE_SENSOR)),
        ]
        return _number(self.driver.first(calls))

    def clock(self, kind: int) -> float | None:
        """Return MHz."""
        return _number(self.driver.maybe("nvmlDeviceGetClockInfo", self.handle, kind))

    def reasons(self) -> int | None:
        """Return the bit mask of why clocks are held down now."""
        found = self.driver.first(
            [
                ("nvmlDeviceGetCurrentClocksEventReasons", (self.handle,)),
                ("nvmlDeviceGetCurrentClocksThrottleReasons", (self.handle,)),
            ]
        )
        return None if found is None else int(str(found))

    def power_watts(self) -> float | None:
        milliwatts = _number(self.driver.maybe("nvmlDeviceGetPowerUsage", self.handle))
        return None if milliwatts is None else milliwatts / 1000.0

    def energy_joules(self) -> float | None:
        """Return the energy since the driver was loaded."""
        millijoules = _number(self.driver.maybe("nvmlDeviceGetTotalEnergyConsumption", self.handle))
        return None if millijoules is None else millijoules / 1000.0

    def ecc_uncorrected(self) -> float | None:
        return _number(self.driver.maybe("nvmlDeviceGetTotalEccErrors", self.handle, UNCORRECTED, VOLATILE))

    def remapped_rows(self) -> float | None:
        found = self.driver.maybe("nvmlDeviceGetRemappedRows", self.handle)
        return float(found[0] + found[1]) if isinstance(found, tuple | list) else None

    def processes(self) -> list[int]:
        """Return the process ids on this GPU as the host counts them; nonsense of old drivers is left out."""
        found = self.driver.maybe("nvmlDeviceGetComputeRunningProcesses", self.handle)
        if not isinstance(found, list):
            return []
        return [int(process.pid) for process in found if 0 < int(process.pid) <= 1 << 22]


def load_driver() -> Driver | None:
    """Return the driver, or None where nvidia-ml-py is not installed."""
    try:
        import pynvml
    except ImportError:
        return None
    return Driver(pynvml)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _field_value(answer: object) -> float:
    """Return a field's number: its type says which member of the union holds it (nvmlValueType_t)."""
    members = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
    kind = int(answer.valueType)  # type: ignore[attr-defined]  # a C structure
    return float(getattr(answer.value, members[kind] if kind < len(members) else "ullVal"))  # type: ignore[attr-defined]  # a C union

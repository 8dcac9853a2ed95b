"""Waits for XID errors in a thread of its own and tells them as events with their time; never a gauge that sticks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agent.gpus.nvml import SILENT, TIMEOUT, XID_EVENTS, Driver, DriverError
from agent.log import log

WAIT_MS = 2000


@dataclass(slots=True)
class XidWatch:
    """One event set over all GPUs; `handles` gives uuid → device handle as they are now."""

    driver: Driver
    handles: Callable[[], Mapping[str, object]]
    told: Callable[[str, str, int | None], None]
    stopping: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(target=self.run, name="xid events", daemon=True).start()

    def run(self) -> None:
        """Tell events until stopped; a new set of GPUs gets a new set of events."""
        while not self.stopping.wait(0.0):
            handles = dict(self.handles())
            if not handles:
                self.stopping.wait(1.0)
                continue
            try:
                self._listen(handles)
            except DriverError as error:
                if error.code in SILENT:
                    log.info("this driver tells no XID events: %s", error)
                    return
                self.stopping.wait(5.0)

    def _listen(self, handles: Mapping[str, object]) -> None:
        nvml, driver = self.driver.module, self.driver
        events = driver.call(nvml.nvmlEventSetCreate)
        try:
            for handle in handles.values():
                driver.maybe("nvmlDeviceRegisterEvents", handle, XID_EVENTS, events)
            while not self.stopping.is_set() and self.handles().keys() == handles.keys():
                try:
                    event = driver.call(nvml.nvmlEventSetWait_v2, events, WAIT_MS)
                except DriverError as error:
                    if error.code == TIMEOUT:
                        continue
                    raise
                uuid = self._uuid(event.device, handles)
                log.error("GPU %s: XID %d", uuid, event.eventData)
                self.told(uuid, "xid", int(event.eventData))
        finally:
            driver.maybe("nvmlEventSetFree", events)

    def _uuid(self, device: object, handles: Mapping[str, object]) -> str:
        address = _address(device)
        for uuid, handle in handles.items():
            if _address(handle) == address:
                return uuid
        return str(self.driver.maybe("nvmlDeviceGetUUID", device) or "unknown")


def _address(handle: object) -> int:
    """Return where a handle points."""
    from ctypes import c_void_p, cast

    return cast(handle, c_void_p).value or 0  # type: ignore[arg-type]  # an opaque pointer of pynvml

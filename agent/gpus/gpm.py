"""Reads GPM, the performance counters of Hopper and later: SM, tensor, DRAM bandwidth, PCIe, NVLink; no busy shares.

Two samples make one measurement, so each tick averages the time since the last one. Percentages become ratios, MiB/s
bytes per second. A single metric may be refused or NaN: then its column stays empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from agent.gpus.form import ERROR, REFUSED, SUPPORTED, UNSUPPORTED, Tick
from agent.gpus.nvml import NO_PERMISSION, SILENT, Device, DriverError

PERCENT, MEBIBYTES = 0.01, float(1 << 20)
#: nvmlGpmMetricId_t (nvml.h): column, id, factor to base units.
METRICS: tuple[tuple[str, int, float], ...] = (
    ("sm_active_ratio", 2, PERCENT),
    ("sm_occupancy_ratio", 3, PERCENT),
    ("tensor_active_ratio", 5, PERCENT),
    ("dram_bandwidth_ratio", 10, PERCENT),
    ("pcie_tx_bytes_per_second", 20, MEBIBYTES),
    ("pcie_rx_bytes_per_second", 21, MEBIBYTES),
    ("nvlink_rx_bytes_per_second", 60, MEBIBYTES),
    ("nvlink_tx_bytes_per_second", 61, MEBIBYTES),
)
#: "The interval between two samples must be over 100 ms" (nvml.h).
SHORTEST_SECONDS = 0.11
RETRY_SECONDS = 60.0
#: Ticks without any value after which the samples are allocated anew.
SILENT_TICKS = 3


@dataclass(slots=True)
class GpmReader:
    """The sample pair of one device."""

    state: str | None = None
    _older: object = None
    _newer: object = None
    _request: object = None
    _at: float | None = None
    _retry_at: float = 0.0
    _silent: int = 0

    def read(self, device: Device, tick: Tick) -> None:
        if self.state not in {SUPPORTED, None} and tick.at < self._retry_at:
            tick.gpm_state = self.state
            return
        try:
            if self._request is None:
                self._prepare(device)
            if self.state == SUPPORTED:
                self._sample(device, tick)
        except DriverError as error:
            if error.gone:
                raise
            self._drop(device)
            self.state = REFUSED if error.code == NO_PERMISSION else UNSUPPORTED if error.code in SILENT else ERROR
            self._retry_at = tick.at + RETRY_SECONDS
        if self.state == UNSUPPORTED:
            self._retry_at = float("inf")
        tick.gpm_state = self.state

    def _prepare(self, device: Device) -> None:
        driver, nvml = device.driver, device.driver.module
        whole = device.parent or device.handle
        support = driver.call(nvml.nvmlGpmQueryDeviceSupport, whole)
        if not support.isSupportedDevice:
            self.state = UNSUPPORTED
            return
        self._older = driver.call(nvml.nvmlGpmSampleAlloc)
        self._newer = driver.call(nvml.nvmlGpmSampleAlloc)
        request = nvml.c_nvmlGpmMetricsGet_t()
        request.version = nvml.NVML_GPM_METRICS_GET_VERSION
        request.numMetrics = len(METRICS)
        for place, (_, number, _) in enumerate(METRICS):
            request.metrics[place].metricId = number
        self._take(device, self._older)
        self._request = request
        self._at = None
        self.state = SUPPORTED

    def _sample(self, device: Device, tick: Tick) -> None:
        if self._at is None:
            self._at = tick.at
            return
        if tick.at - self._at < SHORTEST_SECONDS:
            return
        request = self._request
        self._take(device, self._newer)
        request.sample1 = self._older  # type: ignore[attr-defined]  # a C structure
        request.sample2 = self._newer  # type: ignore[attr-defined]  # a C structure
        device.driver.call(device.driver.module.nvmlGpmMetricsGet, request)
        self._older, self._newer = self._newer, self._older
        self._at = tick.at
        heard = False
        for place, (column, _, factor) in enumerate(METRICS):
            metric = request.metrics[place]  # type: ignore[attr-defined]  # a C structure
            if metric.nvmlReturn == 0 and isfinite(metric.value):
                tick.put(column, metric.value * factor)
                heard = True
        self._silent = 0 if heard else self._silent + 1
        if self._silent >= SILENT_TICKS:
            self._silent = 0
            self._drop(device)
            self.state = ERROR
            self._retry_at = tick.at

    def _take(self, device: Device, sample: object) -> None:
        driver, nvml = device.driver, device.driver.module
        if device.mig is not None and device.instance_id is not None:
            driver.call(nvml.nvmlGpmMigSampleGet, device.parent, device.instance_id, sample)
        else:
            driver.call(nvml.nvmlGpmSampleGet, device.handle, sample)

    def _drop(self, device: Device) -> None:
        """Free the samples; a refusal to do so changes nothing."""
        for sample in (self._older, self._newer):
            if sample is not None:
                device.driver.maybe("nvmlGpmSampleFree", sample)
        self._older = self._newer = self._request = None

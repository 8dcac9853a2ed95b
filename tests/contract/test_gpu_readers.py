"""What every GPU reader keeps to: our columns, base units, None for what a GPU cannot say, an error when it is gone."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import CDLL
from pathlib import Path

import pynvml
import pytest

from agent.gpus.form import SLOW_TICKS, Tick
from agent.gpus.nvml import Device, Driver, DriverError
from agent.gpus.registry import READERS
from signals.views import VIEWS
from tests.nvmlstub import StubState, build, compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler for the stub driver")

COLUMNS = set(VIEWS["gpu_samples"].column_names())
CALLS = (
    "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetFieldValues", "nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature", "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetRemappedRows",
    "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTotalEnergyConsumption", "nvmlGpmQueryDeviceSupport",
    "nvmlGpmSampleGet", "nvmlGpmMetricsGet",
)  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> CDLL:
    return CDLL(str(build(tmp_path_factory.mktemp("stub"))))


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StubState:
    monkeypatch.setenv("NVMLSTUB_STATE", str(tmp_path / "gpus"))
    metrics = {f"gpu.*.gpm.{number}": 50 for number in (2, 3, 5, 10, 20, 21, 60, 61)}
    return StubState(tmp_path / "gpus", **{"count": 2, "gpu.*.reasons": 4, **metrics})


@pytest.fixture
def driver(library: CDLL, state: StubState, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    monkeypatch.setattr(pynvml, "nvmlLib", library)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    found = Driver(pynvml)
    found.open()
    yield found
    found.close()


def read(name: str, device: Device) -> Tick:
    """Return the second of two ticks; the samples behind it are further apart than the driver's least time."""
    import time

    reader = READERS[name]()
    reader.read(device, Tick(0.0, 0))
    time.sleep(0.12 if name == "gpm" else 0.0)
    tick = Tick(1.0, SLOW_TICKS)
    reader.read(device, tick)
    return tick


@pytest.mark.parametrize("name", READERS)
def test_a_reader_writes_columns_of_the_public_view_in_base_units(name: str, driver: Driver) -> None:
    tick = read(name, driver.device(0))
    assert tick.values
    assert set(tick.values) <= COLUMNS
    for column, value in tick.values.items():
        assert value >= 0.0
        if column.endswith("_ratio"):
            assert value <= 1.0


@pytest.mark.parametrize("name", READERS)
def test_a_gpu_that_can_say_nothing_leaves_every_column_empty(name: str, driver: Driver, state: StubState) -> None:
    device = driver.device(0)
    state.set({f"gpu.0.fail.{call}": 3 for call in CALLS})
    assert read(name, device).values == {}


@pytest.mark.parametrize("name", READERS)
def test_a_gpu_that_refuses_everything_harms_no_tick(name: str, driver: Driver, state: StubState) -> None:
    device = driver.device(0)
    state.set({f"gpu.0.fail.{call}": 4 for call in CALLS})
    assert read(name, device).values == {}


@pytest.mark.parametrize("name", READERS)
def test_a_gpu_that_is_gone_is_an_error(name: str, driver: Driver, state: StubState) -> None:
    device = driver.device(0)
    reader = READERS[name]()
    reader.read(device, Tick(0.0, 0))
    state.set({"gpu.0.lost": 1})
    with pytest.raises(DriverError) as caught:
        reader.read(device, Tick(1.0, SLOW_TICKS))
    assert caught.value.gone


@pytest.mark.parametrize("name", READERS)
def test_a_mig_instance_can_be_read_too(name: str, driver: Driver, state: StubState) -> None:
    state.set({"gpu.1.mig": 1})
    (mig,) = driver.device(1).migs()
    assert set(read(name, mig).values) <= COLUMNS


@pytest.mark.parametrize("name", READERS)
def test_two_devices_never_share_a_reader(name: str) -> None:
    assert READERS[name]() is not READERS[name]()

"""GPUs through the real nvidia-ml-py, against the stub driver: what is read, what fails, what the others keep."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from ctypes import CDLL
from itertools import count
from pathlib import Path

import pynvml
import pytest

from agent.config import GpuConfig
from agent.gpus.examination import examine_gpus
from agent.gpus.form import ERROR, REFUSED, SLOW_TICKS, SUPPORTED, UNSUPPORTED, Tick
from agent.gpus.gpm import GpmReader
from agent.gpus.nvml import LOST, MISMATCH, NO_FUNCTION, Device, Driver, DriverError
from agent.gpus.registry import READERS, new_readers
from agent.gpus.summary import Summary
from agent.gpus.watch import GpuWatch
from agent.gpus.worker import GpuWorker
from agent.gpus.xids import XidWatch
from tests.nvmlstub import StubState, build, compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler for the stub driver")

BUSY = {"gpu.*.gpm.2": 71.5, "gpu.*.gpm.3": 23.25, "gpu.*.gpm.5": 41, "gpu.*.gpm.10": 63.125, "gpu.*.gpm.20": 100}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> CDLL:
    return CDLL(str(build(tmp_path_factory.mktemp("stub"))))


@pytest.fixture(scope="module")
def old_library(tmp_path_factory: pytest.TempPathFactory) -> CDLL:
    return CDLL(str(build(tmp_path_factory.mktemp("old"), gpm=False)))


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StubState:
    monkeypatch.setenv("NVMLSTUB_STATE", str(tmp_path / "gpus"))
    return StubState(tmp_path / "gpus", **{"count": 2, **BUSY})


def driver_of(library: CDLL, monkeypatch: pytest.MonkeyPatch) -> Driver:
    monkeypatch.setattr(pynvml, "nvmlLib", library)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    driver = Driver(pynvml)
    driver.open()
    return driver


@pytest.fixture
def driver(library: CDLL, state: StubState, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    found = driver_of(library, monkeypatch)
    yield found
    found.close()


def read(device: Device, ticks: int = 2, gpm: bool = True) -> Tick:
    """Return the last of some ticks a second apart, one that reads all columns; the driver's clock must move too."""
    readers = new_readers(gpm)
    for number in range(ticks):
        tick = Tick(float(number), number * SLOW_TICKS)
        for reader in readers:
            reader.read(device, tick)
        if number < ticks - 1:
            time.sleep(0.12)  # the least time between two samples of performance counters
    return tick


def test_every_reader_is_registered_under_a_name() -> None:
    assert list(READERS) == ["gpm", "memory", "counters", "clocks", "faults"]


def test_performance_counters_become_ratios_and_bytes(driver: Driver) -> None:
    tick = read(driver.device(0))
    assert tick.gpm_state == SUPPORTED
    assert tick.values["sm_active_ratio"] == pytest.approx(0.715)
    assert tick.values["sm_occupancy_ratio"] == pytest.approx(0.2325)
    assert tick.values["tensor_active_ratio"] == pytest.approx(0.41)
    assert tick.values["dram_bandwidth_ratio"] == pytest.approx(0.63125)
    assert tick.values["pcie_tx_bytes_per_second"] == 100 * 1024 * 1024
    assert "nvlink_tx_bytes_per_second" not in tick.values


def test_memory_busy_time_is_no_bandwidth(driver: Driver, state: StubState) -> None:
    state.set({"gpu.0.gpm": 0, "gpu.0.memory_util": 45, "gpu.0.memory_used": 7_000_000_000})
    tick = read(driver.device(0))
    assert tick.gpm_state == UNSUPPORTED
    assert tick.values["memory_busy_ratio"] == 0.45
    assert "dram_bandwidth_ratio" not in tick.values
    assert (tick.values["memory_used_bytes"], tick.values["memory_total_bytes"]) == (7e9, 150e9)


def test_a_refused_or_nan_metric_is_missing_and_the_rest_stays(driver: Driver, state: StubState) -> None:
    state.set({"gpu.0.gpm.10": "nan", "gpu.0.gpm.3": None, "gpu.*.gpm.3": None})
    tick = read(driver.device(0))
    assert "dram_bandwidth_ratio" not in tick.values
    assert "sm_occupancy_ratio" not in tick.values
    assert tick.values["sm_active_ratio"] == pytest.approx(0.715)


def test_refused_counters_are_a_state_and_everything_else_is_still_read(driver: Driver, state: StubState) -> None:
    state.set({"gpu.0.fail.nvmlGpmSampleGet": 4})
    tick = read(driver.device(0))
    assert tick.gpm_state == REFUSED
    assert tick.values["power_watts"] == 300.0
    assert "sm_active_ratio" not in tick.values


def test_refused_counters_are_tried_again_after_a_while(driver: Driver, state: StubState) -> None:
    state.set({"gpu.0.fail.nvmlGpmSampleGet": 4})
    reader, device = GpmReader(), driver.device(0)
    reader.read(device, Tick(0.0, 0))
    state.set({"gpu.0.fail.nvmlGpmSampleGet": None})
    reader.read(device, Tick(30.0, 1))
    assert reader.state == REFUSED
    reader.read(device, Tick(61.0, 2))
    assert reader.state == SUPPORTED


def test_counters_that_fall_silent_are_allocated_anew(driver: Driver, state: StubState) -> None:
    reader, device = GpmReader(), driver.device(0)
    state.set({f"gpu.*.gpm.{number}": None for number in (2, 3, 5, 10, 20)})
    states = []
    for number in range(6):
        reader.read(device, Tick(float(number), number))
        states.append(reader.state)
    assert states == [SUPPORTED, SUPPORTED, SUPPORTED, ERROR, SUPPORTED, SUPPORTED]


def test_a_driver_from_before_the_counters_is_unsupported(
    old_library: CDLL, state: StubState, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = driver_of(old_library, monkeypatch)
    tick = read(driver.device(0))
    assert tick.gpm_state == UNSUPPORTED
    assert tick.values["sm_clock_mhz"] == 1980.0


def test_counters_can_be_left_to_other_tools(driver: Driver) -> None:
    tick = read(driver.device(0), gpm=False)
    assert tick.gpm_state is None
    assert "sm_active_ratio" not in tick.values


def test_link_traffic_before_hopper_comes_from_all_links_counters(driver: Driver, state: StubState) -> None:
    links = 0xFFFFFFFF
    state.set({"gpu.0.gpm": 0, f"gpu.0.field.138.{links}": 1000, "gpu.0.field.138.0": 5, "gpu.0.field.197": 10})
    readers, device = new_readers(True), driver.device(0)
    first, second = Tick(0.0, 0), Tick(2.0, 1)
    for reader in readers:
        reader.read(device, first)
    state.set({f"gpu.0.field.138.{links}": 3000, "gpu.0.field.197": 4})
    for reader in readers:
        reader.read(device, second)
    assert second.values["nvlink_tx_bytes_per_second"] == 1000 * 1024
    assert "pcie_tx_bytes_per_second" not in second.values  # the counter wrapped


def test_throttling_comes_from_the_mask_of_now_and_from_what_happened_between(driver: Driver, state: StubState) -> None:
    state.set({"gpu.0.reasons": 0x1 | 0x4, "gpu.0.field.270": 100})
    readers, device = new_readers(False), driver.device(0)
    for number in range(2):
        tick = Tick(float(number), number)
        for reader in readers:
            reader.read(device, tick)
        state.set({"gpu.0.field.270": 900, "gpu.0.reasons": 0x1})
    assert tick.reasons == {"hw_thermal_slowdown"}


def test_a_row_is_mean_and_maximum_and_the_energy_since_the_last_one() -> None:
    summary = Summary()
    for number, (share, energy) in enumerate([(0.2, 100.0), (0.6, 400.0)]):
        tick = Tick(float(number), number, {"sm_active_ratio": share, "memory_used_bytes": 10.4}, energy)
        tick.reasons = {"sw_power_cap"}
        summary.add(tick)
    row = summary.take()
    assert row["sm_active_ratio"] == pytest.approx(0.4)
    assert (row["sm_active_ratio_max"], row["memory_used_bytes"], row["energy_joules"]) == (0.6, 10, 300.0)
    assert row["throttle_reasons"] == ("sw_power_cap",)
    summary.add(Tick(2.0, 2, {}, 450.0))
    again = summary.take()
    assert again["energy_joules"] == 50.0
    assert "sm_active_ratio" not in again
    summary.add(Tick(3.0, 3, {}, 5.0))
    assert "energy_joules" not in summary.take()  # the driver was loaded anew


def test_mig_instances_are_devices_of_their_own(driver: Driver, state: StubState) -> None:
    state.set({"gpu.1.mig": 2, "gpu.1.mig.0.gpm.2": 10, "gpu.1.mig.1.gpm.2": 30})
    migs = driver.device(1).migs()
    assert [mig.mig for mig in migs] == ["MIG-00000001-0000", "MIG-00000001-0001"]
    assert [read(mig).values["sm_active_ratio"] for mig in migs] == [pytest.approx(0.1), pytest.approx(0.3)]
    assert "memory_busy_ratio" not in read(migs[0]).values
    assert driver.device(0).migs() == []


def test_a_lost_gpu_is_an_error_and_a_missing_number_is_none(driver: Driver, state: StubState) -> None:
    device = driver.device(0)
    state.set({"gpu.0.fail.nvmlDeviceGetClockInfo": 3})
    assert device.clock(1) is None
    state.set({"gpu.0.lost": 1})
    with pytest.raises(DriverError) as caught:
        device.clock(1)
    assert (caught.value.code, caught.value.gone) == (LOST, True)


def test_nonsense_process_ids_of_old_drivers_are_left_out(driver: Driver, state: StubState) -> None:
    state.set({"gpu.0.processes": 2, "gpu.0.process.0": 4242, "gpu.0.process.1": 4_294_967_295})
    assert driver.device(0).processes() == [4242]


class Told:
    def __init__(self) -> None:
        self.events: list[tuple[str, str, int | None]] = []

    def __call__(self, gpu: str, kind: str, code: int | None) -> None:
        self.events.append((gpu, kind, code))


def until(condition: object, seconds: float = 5.0) -> None:
    """Wait for a thread to do something."""
    deadline = time.monotonic() + seconds
    assert callable(condition)
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


def a_worker(driver: Driver, index: int, told: Told) -> GpuWorker:
    return GpuWorker(driver, index, True, 0.02, time.monotonic, told, lambda *_words: None).start()


def test_a_hung_gpu_harms_no_other_and_is_told(driver: Driver, state: StubState) -> None:
    told = Told()
    workers = [a_worker(driver, index, told) for index in range(2)]
    until(lambda: all(worker.ticks > 1 for worker in workers))
    state.set({"gpu.0.hang_ms": 600_000})
    until(lambda: time.monotonic() - workers[0].beat > 0.3)
    ticks = workers[1].ticks
    assert workers[0].rows(0.2) == [{"gpu": "GPU-00000000", "index": 0, "state": "hung"}]
    until(lambda: workers[1].ticks > ticks + 3)
    (row,) = workers[1].rows(0.2)
    assert (row["state"], row["gpu"]) == ("ok", "GPU-00000001")
    state.set({"gpu.0.hang_ms": None})
    beat = workers[0].beat
    until(lambda: workers[0].beat > beat)
    for worker in workers:
        worker.stop()


def test_a_lost_gpu_is_told_once_with_its_code(driver: Driver, state: StubState) -> None:
    told = Told()
    worker = a_worker(driver, 0, told)
    until(lambda: worker.ticks > 1)
    state.set({"gpu.0.lost": 1})
    until(lambda: not worker.running())
    assert told.events == [("GPU-00000000", "lost", LOST)]
    assert worker.rows(5.0) == [{"gpu": "GPU-00000000", "index": 0, "state": "lost"}]


def test_xid_errors_are_events_with_their_gpu(driver: Driver, state: StubState) -> None:
    told = Told()
    handles = {driver.device(index).uuid: driver.device(index).handle for index in range(2)}
    watch = XidWatch(driver, lambda: handles, told)
    state.set({"xid.1": "0 13"})
    watch.start()
    serials = count(2)

    def told_after_another() -> bool:
        state.set({f"xid.{next(serials)}": "1 79"})
        time.sleep(0.05)
        return bool(told.events)

    until(told_after_another)
    watch.stopping.set()
    # The one from before the watch is not told.
    assert set(told.events) == {("GPU-00000001", "xid", 79)}


class Watched:
    """A watch whose steps a test takes by hand."""

    def __init__(self, driver: Driver, **config: object) -> None:
        self.rows: list[Mapping[str, Sequence[Mapping[str, object]]]] = []
        self.upgrades = 0
        self.gauges: dict[tuple[str, str], float] = {}
        self.now = 0.0
        settings = {"tick_seconds": 0.02, "hung_seconds": 2.0, "retry_seconds": 60.0, **config}
        self.watch = GpuWatch(
            GpuConfig(**settings),  # type: ignore[arg-type]
            driver,
            time.monotonic,
            lambda: 1_800_000_000.0,
            self.rows.append,
            lambda gpu, pids: "vllm-0" if 4242 in pids else None,
            self._upgraded,
            lambda metric, label, value: self.gauges.update({(metric, label): value}),
        )

    def _upgraded(self) -> None:
        self.upgrades += 1

    def samples(self) -> list[Mapping[str, object]]:
        return [row for rows in self.rows for row in rows.get("gpu_samples", ())]

    def events(self) -> list[tuple[object, object]]:
        return [(row["gpu"], row["kind"]) for rows in self.rows for row in rows.get("gpu_events", ())]


def test_the_watch_writes_rows_with_their_owner_and_tells_losses_and_returns(
    library: CDLL, state: StubState, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.set({"gpu.1.processes": 1, "gpu.1.process.0": 4242})
    rig = Watched(driver_of(library, monkeypatch), retry_seconds=0.0)
    rig.watch.look()
    until(lambda: all(worker.ticks > 1 for worker in rig.watch.workers.values()))
    rig.watch.emit()
    assert [(row["index"], row.get("instance"), row["state"]) for row in rig.samples()] == [
        (0, None, "ok"),
        (1, "vllm-0", "ok"),
    ]
    assert rig.gauges[("gpus", "ok")] == 2
    state.set({"gpu.0.lost": 1})
    until(lambda: not rig.watch.workers[0].running())
    rig.watch.emit()
    state.set({"gpu.0.lost": None})
    rig.watch.look()
    until(lambda: rig.watch.workers[0].ticks > 1)
    rig.watch.emit()
    rig.watch.emit()
    assert rig.events() == [("GPU-00000000", "lost"), ("GPU-00000000", "back")]
    rig.watch.stop()


def test_mig_instances_have_owners_of_their_own(
    library: CDLL, state: StubState, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.set({"count": 1, "gpu.0.mig": 2, "gpu.0.mig.1.processes": 1, "gpu.0.mig.1.process.0": 4242})
    rig = Watched(driver_of(library, monkeypatch))
    rig.watch.look()
    until(lambda: rig.watch.workers[0].ticks > 1)
    rig.watch.emit()
    assert [(row.get("mig"), row.get("instance")) for row in rig.samples()] == [
        (None, None),
        ("MIG-00000000-0000", None),
        ("MIG-00000000-0001", "vllm-0"),
    ]
    rig.watch.stop()


def test_a_replaced_driver_asks_for_a_new_start(
    library: CDLL, state: StubState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pynvml, "nvmlLib", library)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    state.set({"mismatch": 1})
    rig = Watched(Driver(pynvml))
    rig.watch.look()
    rig.watch.emit()
    assert rig.upgrades == 1
    assert rig.events() == [("driver", "driver_upgrade")]


def test_a_machine_without_a_driver_is_no_fault_and_is_not_asked_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoDriver:
        asked = 0

        def open(self) -> None:
            self.asked += 1
            raise DriverError(12, "nvmlInit")

    driver = NoDriver()
    rig = Watched(driver)  # type: ignore[arg-type]
    rig.watch.look()
    rig.watch.look()
    rig.watch.emit()
    assert driver.asked == 1
    assert rig.rows == []


def test_doctor_says_what_the_counters_need(
    library: CDLL, state: StubState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.set({"count": 3, "gpu.1.fail.nvmlGpmSampleGet": 4, "gpu.2.lost": 1})
    params = tmp_path / "proc/driver/nvidia"
    params.mkdir(parents=True)
    (params / "params").write_text("RmProfilingAdminOnly: 1\n")
    monkeypatch.setattr(pynvml, "nvmlLib", library)
    found = list(examine_gpus(Driver(pynvml), tmp_path, 0.12))
    assert "restricted to administrators" in found[0].note
    assert [one.good for one in found] == [True, True, False, False]
    assert "NVreg_RestrictProfilingToAdminUsers=0" in found[2].remedy
    state.set({"mismatch": 1})
    assert [one.remedy for one in examine_gpus(Driver(pynvml), tmp_path)] == ["restart the agent"]


def test_a_function_that_the_library_lacks_is_asked_for_once(driver: Driver) -> None:
    assert driver.maybe("nvmlDeviceGetNothing") is None
    assert driver.absent == {"nvmlDeviceGetNothing"}
    assert (MISMATCH, NO_FUNCTION) == (18, 13)
    assert os.environ["NVMLSTUB_STATE"]

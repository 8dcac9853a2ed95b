"""The machine, from a tree of files like /proc and /sys."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.config import TargetConfig
from agent.host import HostReader
from agent.lifecycle import Known, Lifecycle
from agent.ownership import Ownership, is_local
from agent.processes import ProcessTable, family, port_of
from collector.store.rows import moment
from signals.readings import Increments
from signals.records import FAILED, GONE, OK, Identity, Scrape, Target
from tests.unit.agent.support import START_NS, FakeClock


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def process(root: Path, pid: int, parent: int, command: str, cpu: int = 0, started: int = 1000) -> None:
    numbers = ["S", str(parent), *["0"] * 9, str(cpu), "0", *["0"] * 6, str(started), "0"]
    put(root, f"proc/{pid}/stat", f"{pid} (a name) with)) " + " ".join(numbers))
    put(root, f"proc/{pid}/cmdline", command.replace(" ", "\0") + "\0")


def machine(root: Path, busy: int, received: int, disk: int, cpu: int) -> None:
    put(root, "proc/stat", f"cpu  {busy} 0 0 {1000 - busy} 0 0 0 0 0 0\nbtime 1700000000\n")
    put(
        root,
        "proc/1/net/dev",
        "Inter-|\n face |\n"
        "    lo: 9 0 0 0 0 0 0 0 9 0 0 0\n veth1: 7 0 0 0 0 0 0 0 7 0 0 0\n"
        f"  eth0: {received} 0 1 1 0 0 0 0 50 0 0 0\n",
    )
    put(root, "proc/diskstats", f"259 0 nvme0n1 1 0 {disk} 0\n259 1 nvme0n1p1 1 0 {disk} 0\n7 0 loop0 1 0 99 0\n")
    put(root, "proc/pressure/cpu", "some avg10=12.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 total=0\n")
    put(root, "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", str(received))
    put(root, "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "10")
    process(root, 7, 1, "vllm serve m --port 8000 --max-num-seqs 16", cpu)


def test_rates_come_from_two_readings_and_what_the_kernel_does_not_offer_is_missing(tmp_path: Path) -> None:
    clock = FakeClock(100.0)
    reader = HostReader(tmp_path, clock.monotonic, lambda: [7, 8])
    machine(tmp_path, 100, 1000, 10, 500)
    assert reader.row() == {"cpu_pressure_ratio": 0.125}
    clock.seconds = 105.0
    put(tmp_path, "proc/stat", "cpu  350 0 0 1250 0 0 0 0 0 0\nbtime 1700000000\n")
    machine_text = (tmp_path / "proc/stat").read_text()
    machine(tmp_path, 100, 2000, 30, 900)
    put(tmp_path, "proc/stat", machine_text)
    row = reader.row()
    assert row == {
        "cpu_pressure_ratio": 0.125,
        "cpu_ratio": pytest.approx(250 / 600),
        "engine_cpu_ratio": pytest.approx(4.0 / 5.0),
        "disk_read_bytes_per_second": 20 * 512 / 5,
        "nic_rx_bytes_per_second": 200.0,
        "nic_tx_bytes_per_second": 0.0,
        "nic_errors": 0.0,
        "rdma_rx_bytes_per_second": 800.0,
        "rdma_tx_bytes_per_second": 0.0,
        "rdma_errors": 0.0,
    }


def test_a_machine_that_tells_nothing_has_an_empty_row(tmp_path: Path) -> None:
    reader = HostReader(tmp_path, FakeClock().monotonic, list)
    assert reader.row() == {}
    assert reader.row() == {}


def test_processes_are_found_with_their_ports_and_families(tmp_path: Path) -> None:
    machine(tmp_path, 1, 1, 1, 1)
    process(tmp_path, 20, 7, "VLLM::EngineCore")
    process(tmp_path, 30, 1, "sglang --port=30001")
    processes = ProcessTable(tmp_path).processes()
    assert port_of(processes[7]) == 8000
    assert port_of(processes[30]) == 30001
    assert port_of(processes[20]) is None
    assert family(7, processes) == {7, 20}


def test_listening_sockets_name_the_process_where_the_command_does_not(tmp_path: Path) -> None:
    process(tmp_path, 9, 1, "engine")
    put(
        tmp_path,
        "proc/net/tcp",
        "head\n 0: 0100007F:1F90 0:0 0A 0:0 0:0 0 0 0 4711 1\n 1: 0:1 0:0 01 0:0 0:0 0 0 0 5 1\n",
    )
    folder = tmp_path / "proc/9/fd"
    folder.mkdir()
    (folder / "3").symlink_to("socket:[4711]")
    (folder / "4").symlink_to("/dev/null")
    assert ProcessTable(tmp_path).listeners([9, 10]) == {8080: 9}


def test_a_gpu_belongs_to_the_instance_whose_child_holds_it(tmp_path: Path) -> None:
    machine(tmp_path, 1, 1, 1, 1)
    process(tmp_path, 20, 7, "VLLM::EngineCore")
    local = TargetConfig("http://127.0.0.1:8000", instance="vllm-0")
    remote = TargetConfig("http://10.0.0.1:8000", instance="far", gpus=("GPU-far",))
    ownership = Ownership(
        ProcessTable(tmp_path),
        lambda: [local, remote],
        lambda target: is_local(target, "h"),
        lambda: {"GPU-pod": "far"},
    )
    ownership.look()
    assert ownership.owner("GPU-1", [20]) == "vllm-0"
    assert ownership.owner("GPU-far", []) == "far"
    assert ownership.owner("GPU-pod", [99]) == "far"
    assert ownership.owner("GPU-2", [99]) is None
    assert ownership.gpus("vllm-0") == ("GPU-1",)
    assert ownership.engine_pids() == [7, 20]
    assert ownership.owned("vllm-0").started_at == 1_700_000_010.0


def a_scrape(seconds: float, state: str = OK, started: float | None = None, first_tokens: float = 0.0) -> Scrape:
    found = Increments("m", "both", {}, {("first_tokens", ()): first_tokens}, ())
    target = Target("i", "vllm", pool="p", gpus=("GPU-1",))
    time_ns = START_NS + int(seconds * 1e9)
    increments = (found,) if state == OK else ()
    facts = {"kv_capacity_tokens": "10240", "block_tokens": "16"}
    return Scrape(Identity("", "", 0), target, time_ns, None, state, increments, facts=facts, process_start=started)


def test_an_engine_that_came_up_under_our_eyes_has_a_ready_time() -> None:
    lives, start = Lifecycle(), START_NS / 1e9
    known = Known(gpu_type="H200", command=("vllm", "serve", "--max-num-seqs", "16"))
    assert lives.observe(a_scrape(0, FAILED), known) == []
    (row,) = lives.observe(a_scrape(10, started=start + 1), known)
    assert row == {
        "instance": "i",
        "pool": "p",
        "model": "m",
        "engine": "vllm",
        "gpu_type": "H200",
        "gpu_count": 1,
        "max_running": 16,
        "started_at": start + 1,
        "ready_at": start + 10,
        "kv_capacity_tokens": 10240,
        "block_tokens": 16,
    }
    assert lives.observe(a_scrape(15, started=start + 1), known) == []


@pytest.mark.parametrize("late_ns", [1, 387_499, 387_500, 387_999, 999_999_999])
def test_a_start_that_nobody_tells_is_the_scrapes_time_as_the_store_keeps_it(late_ns: int) -> None:
    scrape = replace(a_scrape(0), time_ns=START_NS + late_ns)
    (row,) = Lifecycle().observe(scrape, Known())
    assert datetime.fromtimestamp(float(str(row["started_at"])), UTC) == moment(scrape.time_ns)


def test_an_engine_that_ran_before_anybody_looked_has_none() -> None:
    (row,) = Lifecycle().observe(a_scrape(0, started=5.0), Known())
    assert "ready_at" not in row


def test_start_up_spans_and_pods_say_better_when_it_was_ready() -> None:
    lives, start = Lifecycle(), START_NS / 1e9
    lives.loaded("i", start + 4)
    (row,) = lives.observe(a_scrape(10), Known(started_at=start + 1, pod_ready_at=start + 6))
    assert (row["started_at"], row["ready_at"]) == (start + 1, start + 6)


def test_a_restart_is_a_new_life_and_going_ends_it() -> None:
    lives, start = Lifecycle(), START_NS / 1e9
    lives.observe(a_scrape(0, started=start), Known())
    (row,) = lives.observe(a_scrape(60, started=start + 50), Known())
    assert (row["started_at"], row["ready_at"]) == (start + 50, start + 60)
    (last,) = lives.observe(a_scrape(100, GONE), Known())
    assert last["stopped_at"] == start + 100
    assert lives.observe(a_scrape(105, GONE), Known()) == []


def test_a_pod_that_is_told_to_go_is_draining_from_then_on() -> None:
    lives, start = Lifecycle(), START_NS / 1e9
    lives.observe(a_scrape(0, started=start), Known())
    assert lives.observe(a_scrape(5, started=start), Known()) == []
    (row,) = lives.observe(a_scrape(10, started=start), Known(draining_at=start + 9))
    assert row["draining_at"] == start + 9
    assert lives.observe(a_scrape(15, started=start), Known(draining_at=start + 9)) == []

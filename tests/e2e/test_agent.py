"""A real agent between real pages and a stand-in for the collector: killed, reloaded, hung, stopped."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from benchmarks.agentlab.outage import _on_disk
from benchmarks.agentlab.rig import Program, Rig, gpu_state
from tests.nvmlstub import build, compiler

pytestmark = pytest.mark.e2e

FOR_EVER_MS = 100_000_000


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    return build(tmp_path_factory.mktemp("stub")).parent if compiler() else None


@pytest.fixture
def rig(tmp_path: Path, stub: Path | None) -> Iterator[Rig]:
    found = Rig(tmp_path, stub)
    (tmp_path / "gpus").write_text(gpu_state(2, 0))
    found.start_pages()
    yield found
    found.close()


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for something that other processes do."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)


def arrived(rig: Rig, instance: str) -> int:
    row = rig.books()["sums"].get(instance)
    return int(row[0]) if row else 0


def test_killed_without_a_collector_every_number_arrives_once_and_every_token_is_there(rig: Rig) -> None:
    sink = rig.start_sink()
    config = rig.config(rig.engines(2, "100ms"), gpu={"row": "200ms", "tick": "100ms"}, host={"interval": "200ms"})
    agent = rig.start_agent(config)
    until(lambda: arrived(rig, "vllm-0") > 3)
    sink.end(signal.SIGKILL)
    waiting = rig.own_metrics()["sloscope_agent_spool_batches"]
    until(lambda: rig.own_metrics()["sloscope_agent_spool_batches"] > waiting + 10)
    agent.end(signal.SIGKILL)
    agent = rig.start_agent(config)
    until(lambda: rig.own_metrics()["sloscope_agent_spool_batches"] > waiting + 20)
    rig.start_sink()
    rig.freeze()
    until(lambda: rig.own_metrics()["sloscope_agent_spool_batches"] < 8)
    agent.end(signal.SIGTERM)
    books, served = rig.books(), rig.served()
    assert len(books["epochs"]) == 2
    for _, count, last in books["epochs"]:  # type: ignore[misc]
        assert count == last
    for number in ("0", "1"):
        shown = served["last"][number] - served["first"][number]
        assert books["sums"][f"vllm-{number}"][2] == shown


def test_stopped_with_a_hung_gpu_and_a_hung_target_everything_is_on_disk(rig: Rig) -> None:
    rig.sink_port = 1  # nobody listens there
    targets = rig.engines(1, "100ms")
    targets.append({"url": f"http://127.0.0.1:{rig.page_port}/hang/1/metrics", "instance": "hung", "engine": "vllm"})
    agent = rig.start_agent(rig.config(targets))
    until(lambda: rig.own_metrics()["sloscope_agent_spool_batches"] > 5)
    partial = rig.folder / "gpus.partial"
    partial.write_text(gpu_state(2) + f"gpu.0.hang_ms {FOR_EVER_MS}\n")
    partial.replace(rig.folder / "gpus")
    time.sleep(0.5)
    agent.end(signal.SIGTERM)
    assert agent.process.returncode == 0
    assert _on_disk(rig.folder / "spool" / "s.db") >= rig.served()["served"]["0"] - 1


def wait_reload(rig: Rig, agent: Program, good: float) -> None:
    agent.process.send_signal(signal.SIGHUP)
    until(lambda: rig.own_metrics()["sloscope_agent_config_last_reload_successful"] == good)


def test_a_wrong_file_changes_nothing_and_a_right_one_is_taken_without_a_restart(rig: Rig) -> None:
    rig.start_sink()
    config = rig.config(rig.engines(1, "100ms"))
    agent = rig.start_agent(config)
    until(lambda: arrived(rig, "vllm-0") > 1)
    right = yaml.safe_load(config.read_text())
    config.write_text("targets: [{ulr: nowhere}]")
    wait_reload(rig, agent, 0.0)
    before = arrived(rig, "vllm-0")
    until(lambda: arrived(rig, "vllm-0") > before)
    right["targets"] = rig.engines(1, "100ms", first=5)
    config.write_text(yaml.safe_dump(right))
    wait_reload(rig, agent, 1.0)
    until(lambda: arrived(rig, "vllm-5") > 1)
    assert agent.process.poll() is None
    assert len(rig.books()["epochs"]) == 1


def test_a_broken_spool_is_put_aside_and_the_agent_starts(rig: Rig) -> None:
    rig.start_sink()
    spool = rig.folder / "spool" / "s.db"
    spool.parent.mkdir()
    spool.write_bytes(b"not a database" * 1000)
    rig.start_agent(rig.config(rig.engines(1, "100ms")))
    until(lambda: arrived(rig, "vllm-0") > 1)
    assert rig.own_metrics()['sloscope_agent_dropped_batches_total{reason="corrupt"}'] >= 1


def test_rows_of_gpus_and_of_the_machine_arrive(rig: Rig, stub: Path | None) -> None:
    if stub is None:
        pytest.skip("no C compiler for the stub driver")
    rig.start_sink()
    rig.start_agent(rig.config([], gpu={"row": "300ms", "tick": "120ms"}, host={"interval": "300ms"}))
    until(lambda: {"gpu_samples", "host_samples"} <= set(rig.books()["counts"]))

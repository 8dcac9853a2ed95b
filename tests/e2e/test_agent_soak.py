"""Minutes of faults in turn: collector away, agent killed, GPU hung and back; nothing is lost and memory stays flat."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from benchmarks.agentlab.rig import Rig, gpu_state
from tests.nvmlstub import build, compiler

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(compiler() is None, reason="no C compiler for the stub driver"),
]

MINUTES = float(os.environ.get("SLOSCOPE_SOAK_MINUTES", "5"))
ENGINES = 8
#: Of the second half over the first: layouts and patterns are learnt once, then nothing may grow.
GROWTH_MB = 6.0


def test_faults_in_turn_lose_nothing_and_memory_stays_flat(tmp_path: Path) -> None:
    rig = Rig(tmp_path, build(tmp_path / "stub").parent)
    state = tmp_path / "gpus"

    def gpus(extra: str = "") -> None:
        partial = tmp_path / "gpus.partial"
        partial.write_text(gpu_state(4, 500) + extra)
        partial.replace(state)

    try:
        gpus()
        rig.start_pages()
        sink = rig.start_sink()
        config = rig.config(rig.engines(ENGINES, "200ms"), gpu={"tick": "200ms", "row": "1s"}, host={"interval": "1s"})
        agent = rig.start_agent(config)
        deadline, turn, memory = time.monotonic() + MINUTES * 60, 0, []
        while time.monotonic() < deadline:
            time.sleep(8.0)
            turn += 1
            fault = turn % 4
            if fault == 1:
                sink.end(signal.SIGKILL)
                time.sleep(4.0)
                sink = rig.start_sink()
            elif fault == 2:
                gpus("gpu.1.hang_ms 3000\ngpu.2.lost 1\n")
                time.sleep(2.0)
                gpus()
            elif fault == 3 and turn % 8 == 3:
                agent.end(signal.SIGKILL)
                agent = rig.start_agent(config)
                memory.clear()
            memory.append(agent.rss_mb())
        rig.freeze()
        agent.end(signal.SIGTERM)
        last = rig.start_agent(rig.config([], gpu={"enabled": "no"}, host={"enabled": False}))
        while rig.own_metrics()["sloscope_agent_spool_batches"]:
            time.sleep(0.2)
        last.end()
        books, served = rig.books(), rig.served()
        for _, count, newest in books["epochs"]:  # type: ignore[misc]
            assert count == newest
        for number in range(ENGINES):
            shown = served["last"][str(number)] - served["first"][str(number)]
            assert books["sums"][f"vllm-{number}"][2] == shown
        if len(memory) >= 4:
            assert memory[-1] - memory[len(memory) // 2] < GROWTH_MB
    finally:
        rig.close()

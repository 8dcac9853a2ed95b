"""Hangs one GPU and one target, breaks one page, and counts what the others keep; then stops an agent that hangs."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.agentlab.rig import Rig, gpu_state

GPUS, HUNG_GPU, ENGINES = 8, 3, 8
#: Longer than any benchmark: the call never comes back.
FOR_EVER_MS = 100_000_000


@dataclass(frozen=True, slots=True)
class Kept:
    """Shares of due ticks that were kept, and the time to stop."""

    gpu: float
    target: float
    sigterm_seconds: float


def hang(make: Callable[[], Rig], seconds: float) -> Kept:
    """Run with everything healthy for a moment, then hang a GPU; one target hangs and one page is broken throughout."""
    rig = make()
    state = rig.folder / "gpus"
    try:
        state.write_text(gpu_state(GPUS))
        rig.start_pages()
        rig.start_sink()
        targets = rig.engines(ENGINES, "500ms")
        base = f"http://127.0.0.1:{rig.page_port}"
        targets.append({"url": f"{base}/hang/1/metrics", "instance": "hung", "engine": "vllm", "interval": "500ms"})
        targets.append({"url": f"{base}/broken/1/metrics", "instance": "broken", "engine": "vllm", "interval": "500ms"})
        agent = rig.start_agent(rig.config(targets))
        time.sleep(5.0)
        partial = rig.folder / "gpus.partial"
        partial.write_text(gpu_state(GPUS) + f"gpu.{HUNG_GPU}.hang_ms {FOR_EVER_MS}\n")
        partial.replace(state)
        time.sleep(1.0)
        before, began = rig.own_metrics(), time.monotonic()
        time.sleep(seconds)
        after, spent = rig.own_metrics(), time.monotonic() - began
        gpus = [
            (after[name] - before[name]) / spent
            for name in after
            if name.startswith("sloscope_agent_gpu_ticks_total") and f"{HUNG_GPU:08d}" not in name
        ]
        scrapes = [
            (after[name] - before[name]) / (spent / 0.5)
            for name in (f'sloscope_agent_scrapes_total{{instance="vllm-{n}",state="ok"}}' for n in range(ENGINES))
        ]
        stopped = agent.end(signal.SIGTERM)
        assert len(gpus) == GPUS - 1
        return Kept(min(gpus), min(scrapes), stopped)
    finally:
        rig.close()

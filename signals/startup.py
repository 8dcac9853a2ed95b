"""Names the phases of an engine's start: what each engine's spans and gauges call them; measures none."""

from __future__ import annotations

__all__ = ["MARKS", "PHASES", "SIGNAL", "SPANS", "phase_of"]

SIGNAL = "startup_phase_seconds"
#: The order in which a start passes its phases.
PHASES = ("schedule", "pull", "process_start", "load", "compile", "warm_up")
#: vLLM's spans by phase (vllm/v1/worker/gpu_worker.py, gpu_model_runner.py, cpu_model_runner.py,
#: vllm/compilation/backends.py, vllm/v1/engine/core.py). "Prepare model" holds profiling, the KV cache and the warm-up.
_VLLM = {
    "Load model": "load",
    "Loading (GPU)": "load",
    "Loading (CPU)": "load",
    "Load weights": "load",
    "Compile graph": "compile",
    "Capture model": "compile",
    "Prepare model": "warm_up",
    "Profile model": "warm_up",
    "Allocate KV cache": "warm_up",
    "Warm up": "warm_up",
    "Warmup (GPU)": "warm_up",
    "Warmup (CPU)": "warm_up",
}
#: Spans that hold others: the first of them begins where the process itself was up.
MARKS = frozenset({"Overall Loading", "EngineCoreProc init", "EngineCore init", "Init device"})
#: All spans of a start that are kept.
SPANS = frozenset(_VLLM) | MARKS
#: Gauges: SGLang's (sglang/srt/observability/metrics_collector.py) and those of planners.
_GAUGES = {"load_weight": "load", "compile_cached": "compile"}


def phase_of(name: str) -> str | None:
    """Return the phase that a span or gauge tells of, None for those that hold several.

    >>> phase_of("Load model"), phase_of("pull"), phase_of("Overall Loading")
    ('load', 'pull', None)
    """
    return name if name in PHASES else _VLLM.get(name) or _GAUGES.get(name)

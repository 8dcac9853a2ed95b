"""Latency pairs of MLPerf Inference as named thresholds; a start for objectives, not a claim of compliance.

mlcommons/inference_policies, inference_rules.adoc at ac93e89 (2026-07-23): TTFT and TPOT limits in milliseconds for
the server (conversational) and interactive scenarios. MLPerf judges each at the 99th percentile.
"""

from __future__ import annotations

from collections.abc import Mapping

from analytics.slo.objective import Threshold

#: (model, server TTFT ms, server TPOT ms, interactive TTFT ms, interactive TPOT ms); None = the rules have none.
_ROWS: tuple[tuple[str, int, int, int | None, int | None], ...] = (
    ("llama3.1-8b", 2000, 100, 500, 30),
    ("llama2-70b", 2000, 200, 450, 40),
    ("llama3.1-405b", 6000, 175, 4500, 80),
    ("mixtral-8x7b", 2000, 200, None, None),
    ("deepseek-r1", 2000, 80, 1500, 15),
    ("gpt-oss-120b", 3000, 80, 2000, 20),
)


def _pair(ttft_ms: int, tpot_ms: int) -> tuple[Threshold, ...]:
    return Threshold("ttft_seconds", ttft_ms / 1000), Threshold("tpot_seconds", tpot_ms / 1000)


def _all() -> dict[str, tuple[Threshold, ...]]:
    found = {}
    for model, ttft, tpot, fast_ttft, fast_tpot in _ROWS:
        found[f"mlperf-server/{model}"] = _pair(ttft, tpot)
        if fast_ttft is not None and fast_tpot is not None:
            found[f"mlperf-interactive/{model}"] = _pair(fast_ttft, fast_tpot)
    return found


#: Joint thresholds by name, e.g. `mlperf-interactive/llama2-70b`.
PRESETS: Mapping[str, tuple[Threshold, ...]] = _all()

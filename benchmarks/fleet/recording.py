"""Reads a recorded vLLM run for the replay's check: its pages as samples and its clients' truth; fits nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from prometheus_client.parser import text_string_to_metric_families

Floats = npt.NDArray[np.float64]

#: Counters of vLLM's page and the columns of engine_samples that their increments fill.
COUNTERS = {
    "vllm:iteration_tokens_total_count": "steps",
    "vllm:prompt_tokens_total": "prompt_tokens",
    "vllm:generation_tokens_total": "generation_tokens",
    "vllm:prefix_cache_hits_total": "prefix_hit_tokens",
}
GAUGES = {"vllm:num_requests_running": "running", "vllm:kv_cache_usage_perc": "kv_usage_ratio"}
QUEUE = "vllm:num_requests_waiting"
#: What the recorded engine was started with.
SEATS, KV_TOKENS = 16, 10_240


@dataclass(frozen=True, slots=True)
class Recording:
    """Samples in order of time (`clock`, seconds from the first page) and requests in order of sending."""

    clock: Floats
    samples: dict[str, Floats]
    queue: Floats
    sent: Floats
    ttft: Floats
    input_tokens: Floats
    cached: Floats
    #: Engine steps that produced each request's output (chunks that the client saw; speculation makes them fewer).
    steps: Floats
    seats: int = SEATS
    kv_tokens: int = KV_TOKENS


def recording(folder: Path) -> Recording:
    """Read a folder of pages with `index.jsonl` and `client.jsonl`."""
    index = [json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines()]
    pages = [_page(folder / f"{entry['n']:04d}.txt") for entry in index]
    clock = np.array([entry["t"] for entry in index])
    samples: dict[str, Floats] = {"interval_seconds": np.diff(clock, prepend=np.nan)}
    for series, column in COUNTERS.items():
        samples[column] = np.diff(np.array([page.get(series, np.nan) for page in pages]), prepend=np.nan)
    for series, column in GAUGES.items():
        samples[column] = np.array([page.get(series, np.nan) for page in pages])
    lines = (folder / "client.jsonl").read_text().splitlines()
    requests = [row for row in map(json.loads, lines) if row.get("ttft") is not None]
    requests.sort(key=lambda row: row["t_send"])
    usage = [row.get("usage") or {} for row in requests]
    return Recording(
        clock=clock - clock[0],
        samples=samples,
        queue=np.array([page.get(QUEUE, np.nan) for page in pages]),
        sent=np.array([row["t_send"] for row in requests]) - clock[0],
        ttft=np.array([row["ttft"] for row in requests], dtype=np.float64),
        input_tokens=np.array([u.get("prompt_tokens") or r["n_prompt"] for u, r in zip(usage, requests, strict=True)]),
        cached=np.array([(u.get("prompt_tokens_details") or {}).get("cached_tokens") or 0 for u in usage]),
        steps=np.array([1 + len(row.get("itl") or []) for row in requests], dtype=np.float64),
    )


def _page(path: Path) -> dict[str, float]:
    """Sum the wanted series of a page over their labels."""
    wanted = {*COUNTERS, *GAUGES, QUEUE}
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(path.read_text()):
        for sample in family.samples:
            if sample.name in wanted:
                found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found

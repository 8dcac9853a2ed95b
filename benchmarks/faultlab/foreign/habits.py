"""Draws what a service is like and what it records: size, pace, names, gaps; breaks nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: What a service may not record, by name; drawn one or two at a time, beside whole kinds of services (`KINDS`).
GAPS = (
    "gpus", "hosts", "gateway", "queue", "stages", "tenants", "regions", "versions", "instances", "cached", "lives",
    "buckets", "engine_ttft", "changes", "pages", "adapters", "spec",
)  # fmt: skip
#: (kind of service, share of cases): everything, a gap or two, requests alone, pages alone, a gateway's log alone.
KINDS = (("full", 0.3), ("gaps", 0.35), ("requests", 0.13), ("pages", 0.12), ("gateway_log", 0.1))

MODELS = (
    "meta-llama/Llama-3.3-70B-Instruct", "Qwen/Qwen3-235B-A22B-FP8", "/models/mistral-small:2506", "gpt-oss-120b",
    "deepseek-ai/DeepSeek-V3.1",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Habits:
    """The habits of one service; `missing` holds names of GAPS, and `kind` says what is recorded at all."""

    kind: str
    missing: frozenset[str]
    model: str
    engine: str
    instances: tuple[str, ...]
    hosts: tuple[str, ...]
    regions: tuple[str, ...]
    tenants: tuple[str | None, ...]
    horizon: float
    since: float
    until: float
    ramp: float
    scrape_seconds: float
    hardware_seconds: float
    skew_seconds: float
    burst: float
    restless: float
    swell: float
    lengths: str
    router: str
    severity: float
    question: str
    nuisances: tuple[str, ...]


def draw_habits(rng: np.random.Generator, smallest: int = 1) -> Habits:
    """Draw a service of at least `smallest` instances."""
    kind = str(rng.choice([name for name, _ in KINDS], p=[share for _, share in KINDS]))
    missing: set[str] = set()
    if kind == "gaps":
        missing = {str(name) for name in rng.choice(GAPS, int(rng.integers(1, 3)), replace=False)}
    size = max(smallest, int(np.exp(rng.uniform(np.log(2), np.log(41)))))
    horizon = float(np.exp(rng.uniform(np.log(0.75), np.log(26)))) * 3600
    length = min(float(np.exp(rng.uniform(np.log(180), np.log(2400)))), 0.4 * horizon)
    at_end = rng.random() < 0.35
    until = horizon if at_end else horizon - float(rng.uniform(0, 0.3)) * (horizon - length - 1200)
    since = until - length
    style = int(rng.integers(3))
    names = tuple(
        f"10.42.{place // 7}.{20 + place * 3}:8000" if style == 0
        else f"vllm-decode-6f7c9d-{place * 7919 % 46656:05x}" if style == 1
        else f"http://gpu{place:02d}.cluster.local:30000/{place % 2}"
        for place in range(size)
    )  # fmt: skip
    per_host = int(rng.choice([1, 1, 2, 4])) if size >= 4 else 1
    hosts = tuple(f"node-{place // per_host}" for place in range(size))
    many = int(rng.choice([1, 1, 2, 3])) if size >= 3 else 1
    regions = tuple(("eu-west-1", "us-east", "ap")[place % many] for place in range(size))
    owners = int(np.exp(rng.uniform(0, np.log(41))))
    tenants: tuple[str | None, ...] = tuple(str(1000 + 37 * k) if style else f"team/{k}" for k in range(owners))
    if rng.random() < 0.4:
        tenants = (*tenants[: max(owners - 1, 1)], None)
    nuisances = tuple(
        name
        for name, chance in (("deploy", 0.3), ("batch", 0.25), ("autoscale", 0.2), ("restart", 0.15), ("note", 0.3))
        if rng.random() < chance
    )
    return Habits(
        kind, frozenset(missing), str(rng.choice(MODELS)), str(rng.choice(["vllm", "sglang", "trtllm"])), names, hosts,
        regions, tenants, horizon, since, until, float(rng.choice([0, 0, 30, 120, 300])) * min(1.0, length / 900),
        float(rng.choice([1, 5, 10, 15, 30, 60])), float(rng.choice([5, 15, 60])),
        float(rng.choice([0, 0, 2, 10])) * float(rng.uniform(-1, 1)), float(rng.uniform(1, 3)),
        float(rng.uniform(0, 0.2)), float(rng.uniform(0, 0.5)),
        str(rng.choice(["lognormal", "bimodal", "pareto"])), str(rng.choice(["random", "least", "session"])),
        float(rng.uniform(0, 1)), str(rng.choice(["window", "window", "at", "open"])), nuisances,
    )  # fmt: skip

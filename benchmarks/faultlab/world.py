"""Describes one simulated service before anything is broken: fleet, tenants, traffic; drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.faultlab.engine import PARAMETERS, P

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
#: What is drawn for each request, by name: seconds, tokens, numbers of tenants, yes or no.
Traffic = dict[str, npt.NDArray[Any]]
#: Length classes as (name, lowest, highest) tokens, as the product buckets them.
LENGTHS = (("0-1k", 40, 999), ("1k-4k", 1000, 3999), ("4k-16k", 4000, 15999), ("16k-64k", 16000, 63999))


@dataclass
class World:
    """A service over `horizon` seconds; the fault, once chosen, holds in [fault_from, fault_to)."""

    rng: np.random.Generator
    horizon: float
    fault_from: float
    fault_to: float
    instances: list[str]
    regions: list[str]
    hosts: list[str]
    parameters: Floats  # (instances, 2, PARAMETERS)
    weights: Floats  # (2, instances): routing shares, healthy and faulty
    tenants: list[str]
    rate: float
    requests: Traffic = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    born: set[int] = field(default_factory=set)
    versions: tuple[list[str], list[str]] = (["v1"], ["v1"])
    changes: list[dict[str, object]] = field(default_factory=list)
    gpu: dict[int, dict[str, object]] = field(default_factory=dict)
    gpu_events: list[dict[str, object]] = field(default_factory=list)
    host: dict[str, dict[str, float]] = field(default_factory=dict)
    signals: dict[str, tuple[float, float]] = field(default_factory=dict)
    external_share: float = 0.0
    missing_scrapes: bool = False
    reset_at: float | None = None
    drift: float = 0.0
    transfers: bool = False
    metric: str = "ttft"
    cause: str | None = None
    segments: list[dict[str, str]] = field(default_factory=list)
    stages: set[str] = field(default_factory=set)

    def during(self) -> npt.NDArray[np.bool_]:
        """Return which requests arrive while the fault holds."""
        ts = self.requests["ts"]
        return np.asarray((ts >= self.fault_from) & (ts < self.fault_to), dtype=bool)

    def break_(self, name: str, value: float, instances: list[int] | None = None, factor: bool = True) -> None:
        """Change a parameter of some (all) instances while the fault holds, by a factor or to a value."""
        rows = range(len(self.instances)) if instances is None else instances
        for row in rows:
            self.parameters[row, 1, P[name]] = self.parameters[row, 1, P[name]] * value if factor else value


def draw(seed: int, requests: int = 30_000) -> World:
    """Draw a healthy service with about `requests` requests in 75 minutes, the last 15 for the fault."""
    rng = np.random.default_rng(seed)
    horizon, fault_from = 4500.0, 3600.0 + float(rng.uniform(-200, 100))
    count = int(rng.integers(5, 11))
    many_regions = bool(rng.random() < 0.5)
    regions = [("eu", "us", "ap")[i % (3 if count > 7 else 2)] if many_regions else "eu" for i in range(count)]
    per_host = 2 if rng.random() < 0.4 else 1
    rate = requests / horizon
    seats = int(rng.integers(8, 25))
    row = np.zeros(len(PARAMETERS))
    row[P["step"]] = rng.uniform(0.012, 0.022)
    row[P["prefill_token"]] = rng.uniform(4e-5, 9e-5)
    row[P["decode_slot"]] = rng.uniform(2e-4, 6e-4)
    row[P["seats"]] = seats
    row[P["budget"]] = float(rng.choice([1024, 2048, 4096]))
    row[P["grammar"]] = 2e-4
    row[P["adapter_slots"]] = 8
    row[P["adapter_load"]] = rng.uniform(0.3, 1.0)
    if rng.random() < 0.5:
        row[P["draft"]], row[P["verify"]] = 3, 2e-4
    tenants = [f"tenant-{i}" for i in range(int(rng.integers(4, 13)))]
    world = World(
        rng, horizon, fault_from, horizon - float(rng.uniform(0, 120)),
        [f"pod-{i}" for i in range(count)], regions, [f"node-{i // per_host}" for i in range(count)],
        np.repeat(np.repeat(row[None, None, :], 2, axis=1), count, axis=0), np.ones((2, count)) / count, tenants, rate,
    )  # fmt: skip
    world.transfers = bool(rng.random() < 0.3)
    world.external_share = float(rng.choice([0.0, 0.0, 0.15]))
    world.requests = _traffic(world, rng)
    mean_kv = float(np.mean(world.requests["input_tokens"] + world.requests["output_tokens"]))
    world.parameters[:, :, P["kv_tokens"]] = seats * mean_kv * rng.uniform(1.6, 2.4) + 40_000
    return world


def _traffic(world: World, rng: np.random.Generator) -> Traffic:
    """Draw arrivals (Poisson with a gentle hourly wave) and what each request is."""
    count = rng.poisson(world.rate * world.horizon)
    ts = np.sort(rng.uniform(0, world.horizon, count))
    return columns(world, ts, rng)


def columns(world: World, ts: Floats, rng: np.random.Generator, tenant: int | None = None) -> Traffic:
    """Draw the properties of requests arriving at `ts`; tenants differ in length, domain, hits and structure."""
    count, many = len(ts), len(world.tenants)
    habits = np.random.default_rng(many * 7919 + len(world.instances))
    popularity = habits.dirichlet(np.full(many, 1.5))
    owner = rng.choice(many, count, p=popularity) if tenant is None else np.full(count, tenant)
    mixes = habits.dirichlet([6, 3, 0.8, 0.05], many)
    draws = rng.random(count)
    edges = np.cumsum(mixes, axis=1)
    kind = (draws[:, None] > edges[owner]).sum(axis=1).clip(0, 3)
    low = np.array([bounds[1] for bounds in LENGTHS])[kind]
    high = np.minimum(np.array([bounds[2] for bounds in LENGTHS])[kind], 24_000)
    tokens = np.exp(rng.uniform(np.log(low), np.log(high + 1))).astype(np.int64)
    hit = habits.uniform(0.1, 0.75, many)[owner]
    cached = (tokens * np.clip(rng.normal(hit, 0.12), 0, 0.95) // 16 * 16).astype(np.int64)
    mean_out = habits.uniform(40, 160, many)[owner]
    output = np.maximum(rng.gamma(1.6, mean_out / 1.6), 2).astype(np.int64)
    structured = rng.random(count) < habits.choice([0.0, 0.1, 0.5], many)[owner]
    adapters = np.where(rng.random(count) < 0.25, rng.integers(0, 4, count), -1)
    domains = habits.integers(0, 3, many)[owner]
    return {
        "ts": ts,
        "tenant": owner.astype(np.int64),
        "input_tokens": tokens,
        "cached": cached,
        "output_tokens": output,
        "structured": structured,
        "adapter": adapters,
        "domain": domains,
        "accept": np.array([0.72, 0.62, 0.8])[domains],
        "gateway": rng.lognormal(np.log(0.008), 0.5, count),
        "transfer": rng.lognormal(np.log(0.012), 0.4, count) * (1 + tokens / 4000),
        "extra": np.zeros(count),
        "shift": np.zeros(count),
        "version": np.zeros(count, dtype=np.int64),
    }


def add(world: World, more: Traffic) -> None:
    """Add requests and keep the arrivals in order."""
    joined = {name: np.concatenate([world.requests[name], more[name]]) for name in more}
    order = np.argsort(joined["ts"], kind="stable")
    world.requests = {name: values[order] for name, values in joined.items()}


def keep(world: World, mask: npt.NDArray[np.bool_]) -> None:
    """Drop the requests outside `mask`."""
    world.requests = {name: values[mask] for name, values in world.requests.items()}

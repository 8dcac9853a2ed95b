"""Builds the scaling workloads from public traces: demand over a fortnight, and the lengths that come with it.

Rates are those of ServeGen's clients (10-minute means), interpolated between the middles of their windows; counts per
tick scatter as each client's inter-arrival variation says (variance = cv^2 x mean). Lengths come from another trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from analytics.replay import Engine

Floats = npt.NDArray[np.float64]

TRACES = Path(__file__).resolve().parents[2].parent / "shared" / "traces"
WINDOW_SECONDS = 600.0
DAYS = 14


@dataclass(frozen=True, slots=True)
class Lengths:
    """Requests to draw lengths from, in their recorded order (so that sessions and prefixes stay together)."""

    input_tokens: npt.NDArray[np.int64]
    output_tokens: npt.NDArray[np.int64]
    #: Prompt tokens that a prefix cache of ideal size would have held.
    cached: npt.NDArray[np.int64]
    key: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Workload:
    """Demand in requests per second per tick, and what its requests look like."""

    name: str
    demand: Floats
    tick_seconds: float
    lengths: Lengths
    engine: Engine
    objective_ttft: float
    objective_tpot: float

    @property
    def capacity(self) -> float:
        """Requests per second of one instance within the objectives."""
        held = self.lengths.input_tokens.astype(np.float64)
        cached = float(self.lengths.cached.sum() / held.sum())
        return self.engine.requests_per_second(
            float(held.mean()),
            float(self.lengths.output_tokens.mean()),
            self.objective_ttft,
            self.objective_tpot,
            cached,
        )


def workloads(tick_seconds: float = 15.0, seed: int = 7) -> list[Workload]:
    """Return the six workloads."""
    code, chat = _azure(), _mooncake()
    large, mid = _demand("m-large", tick_seconds, seed), _demand("m-mid", tick_seconds, seed)
    mix = _demand("m-large", tick_seconds, seed, clients=range(8, 60))
    small = Engine()
    big = Engine(kv_tokens=1_500_000, per_prefill_token_seconds=2.5e-5, token_budget=8192)
    return [
        Workload("m-large, code lengths", large, tick_seconds, code, small, 2.0, 0.05),
        Workload("m-mid, code lengths", mid / 8, tick_seconds, code, small, 2.0, 0.05),
        Workload("m-large, chat with prefixes", large / 4, tick_seconds, chat, big, 5.0, 0.06),
        Workload("m-mid, chat with prefixes", mid / 32, tick_seconds, chat, big, 5.0, 0.06),
        Workload("tenants' mix", mix, tick_seconds, _tenants(), small, 2.0, 0.05),
        Workload("bursts", _bursts(large / 2, tick_seconds, seed), tick_seconds, code, small, 2.0, 0.05),
    ]


def _demand(model: str, tick: float, seed: int, clients: range | None = None) -> Floats:
    table = pq.read_table(TRACES / "servegen_client_rates.parquet", filters=[("model", "=", model)])
    client, at = table["client"].to_numpy(), table["ts_s"].to_numpy()
    rate, cv = table["rate"].to_numpy(), table["cv"].to_numpy()
    names = np.unique(client)
    if clients is not None:
        order = names[np.argsort([-rate[client == name].sum() for name in names])]
        names = order[clients.start : clients.stop]
    windows = int(DAYS * 86_400 / WINDOW_SECONDS)
    count = int(DAYS * 86_400 / tick)
    grid = (np.arange(count) + 0.5) * tick
    middle = (np.arange(windows) + 0.5) * WINDOW_SECONDS
    generator = np.random.default_rng(seed)
    every = np.zeros(windows)
    np.add.at(every, np.minimum((at // WINDOW_SECONDS).astype(int), windows - 1), rate)
    seen = every > 0  # windows in which no client at all was recorded are gaps, bridged by interpolation
    total = np.zeros(count)
    for name in names:
        mine = client == name
        slots = np.minimum((at[mine] // WINDOW_SECONDS).astype(int), windows - 1)
        rates, spread = np.zeros(windows), np.ones(windows)
        rates[slots], spread[slots] = rate[mine], np.nan_to_num(cv[mine], nan=1.0)
        mean = np.interp(grid, middle[seen], rates[seen]) * tick
        index = np.clip(np.interp(grid, middle[seen], spread[seen]), 1.0, 12.0) ** 2
        total += _counts(generator, mean, index)
    return total / tick


def _counts(generator: np.random.Generator, mean: Floats, dispersion: Floats) -> Floats:
    """Return counts with variance = dispersion x mean (negative binomial; Poisson where dispersion is 1)."""
    extra = np.maximum(dispersion - 1, 1e-3)
    shape = np.maximum(mean / extra, 1e-9)
    return generator.poisson(generator.gamma(shape, extra)).astype(np.float64)


def _bursts(demand: Floats, tick: float, seed: int) -> Floats:
    """Add bursts: about six a day, 2-15 minutes long, 1.5-3 times the demand, rising within a minute."""
    generator = np.random.default_rng(seed + 1)
    factor = np.ones(len(demand))
    at = 0.0
    while True:
        at += generator.exponential(4 * 3600)
        start = int(at / tick)
        if start >= len(demand):
            break
        length = int(generator.uniform(120, 900) / tick)
        height = generator.uniform(0.5, 2.0)
        ramp = np.minimum(1.0, np.minimum(np.arange(length), np.arange(length)[::-1]) * tick / 60)
        end = min(start + length, len(demand))
        factor[start:end] = np.maximum(factor[start:end], 1 + height * ramp[: end - start])
    return demand * factor


def _azure() -> Lengths:
    table = pq.read_table(TRACES / "azure2023_code.parquet")
    prompt = np.maximum(table["input_tokens"].to_numpy().astype(np.int64), 1)
    output = np.maximum(table["output_tokens"].to_numpy().astype(np.int64), 1)
    return Lengths(prompt, output, np.zeros(len(prompt), dtype=np.int64), np.full(len(prompt), -1, dtype=np.int64))


def _mooncake() -> Lengths:
    """Prefix hits by the recorded block hashes with a cache that forgets nothing within the hour."""
    table = pq.read_table(TRACES / "mooncake_conversation.parquet")
    prompt = np.maximum(table["input_tokens"].to_numpy().astype(np.int64), 1)
    output = np.maximum(table["output_tokens"].to_numpy().astype(np.int64), 1)
    seen: set[int] = set()
    cached, key = np.zeros(len(prompt), dtype=np.int64), np.zeros(len(prompt), dtype=np.int64)
    for row, hashes in enumerate(table["prefix_hashes"].to_pylist()):
        known = 0
        for block in hashes:
            if block not in seen:
                break
            known += 1
        seen.update(hashes)
        cached[row] = min(known * 512, prompt[row] - 1)
        key[row] = hashes[min(1, len(hashes) - 1)] if hashes else -1
    return Lengths(prompt, output, cached, key)


def _tenants() -> Lengths:
    """Lengths of m-large's tenants, drawn by inverse distribution from their quantiles."""
    table = pq.read_table(TRACES / "servegen_length_quantiles.parquet", filters=[("model", "=", "m-large")])
    levels = [name for name in table.schema.names if name.startswith("q")]
    points = np.array([float(name[1:]) for name in levels])
    generator = np.random.default_rng(11)
    drawn = {}
    for field in ("input_tokens", "output_tokens"):
        rows = np.flatnonzero(np.array(table["field"].to_pylist()) == field)
        values = np.column_stack([table[name].to_numpy()[rows] for name in levels]).astype(np.float64)
        chosen = generator.integers(0, len(rows), 20_000)
        places = generator.random(20_000)
        drawn[field] = np.array([np.interp(p, points, values[c]) for p, c in zip(places, chosen, strict=True)])
    prompt = np.maximum(np.nan_to_num(drawn["input_tokens"]), 1).astype(np.int64)
    output = np.maximum(np.nan_to_num(drawn["output_tokens"]), 1).astype(np.int64)
    nothing = np.zeros(len(prompt), dtype=np.int64)
    return Lengths(prompt, output, nothing, nothing - 1)

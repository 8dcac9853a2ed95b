"""Draws who asks for what and when: bursts, days, tenants of unlike habits; serves nothing."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from benchmarks.faultlab.foreign.habits import Habits

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class Traffic:
    """Requests by arrival; `tier` is the share of the cached tokens that comes from an outer tier of the cache."""

    t: Floats
    tenant: Ints
    prompt: Ints
    cached: Ints
    output: Ints
    adapter: Ints
    structured: npt.NDArray[np.bool_]
    domain: Ints
    turn: Ints
    tier: Floats
    easy: Floats
    held: Floats
    session: Ints

    def joined(self, other: Traffic) -> Traffic:
        """Return both by arrival."""
        order = np.argsort(np.concatenate([self.t, other.t]), kind="stable")
        return Traffic(
            *(np.concatenate([getattr(self, f.name), getattr(other, f.name)])[order] for f in fields(Traffic))
        )

    def kept(self, mask: npt.NDArray[np.bool_]) -> Traffic:
        """Return the requests that `mask` keeps."""
        return Traffic(*(getattr(self, f.name)[mask] for f in fields(Traffic)))


@dataclass(frozen=True, slots=True)
class Customs:
    """What tenants ask for: centres of the logarithm of prompt and answer, cached share, extras."""

    weight: Floats
    prompt: Floats
    answer: Floats
    hit: Floats
    structured: Floats
    adapters: int
    domains: int
    easy: Floats


def draw_customs(rng: np.random.Generator, habits: Habits) -> Customs:
    """Draw the customs of all tenants."""
    n = len(habits.tenants)
    weight = rng.pareto(1.2, n) + 0.15
    return Customs(
        weight / weight.sum(), rng.normal(6.6, 0.7, n), rng.normal(5.0, 0.5, n), rng.beta(2, 2, n) * 0.8,
        np.where(rng.random(n) < 0.3, rng.uniform(0.1, 0.6, n), 0.0),
        int(rng.choice([0, 0, 6])), int(rng.choice([1, 3, 5])), rng.uniform(0.85, 1.1, n),
    )  # fmt: skip


def draw_times(rng: np.random.Generator, habits: Habits, rate: float, since: float, until: float) -> Floats:
    """Draw arrivals of mean `rate`: a day's swell, minutes that differ, gaps as bursty as the habits say."""
    grid = np.arange(since, until + 60, 60.0)
    noise, level = np.zeros(len(grid)), 0.0
    for i, push in enumerate(rng.normal(0, 1, len(grid)).tolist()):
        level = 0.8 * level + 0.6 * push
        noise[i] = level
    wave = 1 + habits.swell * np.sin(2 * np.pi * (grid / 86_400 + 0.2))
    pace = rate * wave * np.exp(habits.restless * noise - habits.restless**2 / 2)
    mass = np.concatenate([[0.0], np.cumsum(pace * 60)])
    shape = 1 / habits.burst**2
    count = int(mass[-1] * 1.15 + 60 * habits.burst)
    clock = np.cumsum(rng.gamma(shape, 1 / shape, count))
    t = np.interp(clock[clock < mass[-1]], mass, np.append(grid, grid[-1] + 60))
    return np.asarray(t[t < until], dtype=np.float64)


def draw_requests(
    rng: np.random.Generator, habits: Habits, customs: Customs, t: Floats, tenant: int | None = None
) -> Traffic:
    """Draw what arrives at `t`, of one tenant or of all."""
    n = len(t)
    who = rng.choice(len(customs.weight), n, p=customs.weight) if tenant is None else np.full(n, tenant)
    if habits.lengths == "lognormal":
        prompt = np.exp(rng.normal(customs.prompt[who], 0.9))
    elif habits.lengths == "bimodal":
        prompt = np.exp(rng.normal(customs.prompt[who] + np.where(rng.random(n) < 0.15, 2.2, -0.2), 0.4))
    else:
        prompt = np.exp(customs.prompt[who] - 0.7) * (1 + rng.pareto(1.8, n))
    prompt = prompt.clip(8, 28_000).astype(np.int64)
    turn = rng.geometric(0.3, n)
    hit = np.where(turn > 1, customs.hit[who] * rng.beta(6, 2, n) * 1.2, customs.hit[who] * 0.3)
    output = np.exp(rng.normal(customs.answer[who], 0.8)).clip(2, 4_000).astype(np.int64)
    adapter = np.full(n, -1)
    if customs.adapters:
        adapter = np.where(rng.random(n) < 0.7, np.minimum(rng.zipf(1.5, n), customs.adapters) - 1, -1)
    return Traffic(
        t, who.astype(np.int64), prompt, (prompt * hit.clip(0, 0.95)).astype(np.int64) // 16 * 16, output,
        adapter.astype(np.int64), rng.random(n) < customs.structured[who],
        ((who + (rng.random(n) < 0.3)) % customs.domains).astype(np.int64), turn.astype(np.int64), np.zeros(n),
        customs.easy[who] * rng.uniform(0.95, 1.05, n), np.zeros(n), rng.integers(0, max(n // 4, 1), n),
    )  # fmt: skip

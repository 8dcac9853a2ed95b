"""One contest: every policy over its grid on a workload at one cold start, ours on its defaults, and the oracle."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import numpy as np

from analytics.replay import fluid, outcome
from analytics.replay.fluid import Run, run
from analytics.replay.outcome import Outcome, judge, tail
from analytics.scaling import oracle as oracle_module
from analytics.scaling import policies
from analytics.scaling.oracle import Costs, cheapest
from analytics.scaling.policies import POLICIES, Setting
from analytics.scaling.policies.planned import Planned
from benchmarks.fleet.workloads import Workload

Kept = TypeVar("Kept")

TARGET = 0.99
DAY_SECONDS = 86_400.0
#: Days 1-7 are for tuning, days 8-14 are reported.
TUNING_DAYS = 7


@dataclass(frozen=True, slots=True)
class Point:
    """One policy at one target: its outcome on the tuning days and on the reported days."""

    policy: str
    target: float
    tuning: Outcome
    reported: Outcome


@dataclass(frozen=True, slots=True)
class Contest:
    """Everything measured for one workload and cold start."""

    workload: str
    cold_start_seconds: float
    points: tuple[Point, ...]
    ours: Point
    oracle: Outcome

    def oracle_ratio(self) -> float:
        """Return our GPU-hours over those of the plan that knows the future."""
        return self.ours.reported.gpu_hours / self.oracle.gpu_hours


def setting_of(workload: Workload, cold_start_seconds: float) -> Setting:
    """Return what every policy is told about a workload's pool."""
    capacity = workload.capacity
    lengths = workload.lengths
    service = 0.1 * workload.objective_ttft + float(lengths.output_tokens.mean()) * 0.8 * workload.objective_tpot
    return Setting(
        cold_start_seconds=cold_start_seconds,
        capacity=capacity,
        in_flight=max(2.0, capacity * service),
        seats=workload.engine.seats,
        largest=300,
        tick_seconds=workload.tick_seconds,
        objective_seconds=workload.objective_ttft,
        input_tokens=float(lengths.input_tokens.mean()),
        output_tokens=float(lengths.output_tokens.mean()),
        kv_tokens=workload.engine.kv_tokens,
    )


def contest(workload: Workload, cold_start_seconds: float, baselines: list[str], cache: Path | None = None) -> Contest:
    """Run everybody over the whole fortnight; `cache` keeps what does not depend on the recommender."""
    setting = setting_of(workload, cold_start_seconds)
    split = int(TUNING_DAYS * DAY_SECONDS / workload.tick_seconds)
    first = int(np.ceil(workload.demand[:40].mean() / setting.capacity * 1.3))
    peak = np.array([float(workload.demand[:split].reshape(-1, 4).mean(axis=1).max())])

    def point(name: str, target: float) -> Point:
        told = replace(setting, history=peak) if name == "static-peak" else setting
        done = run(workload.demand, POLICIES[name].make(told, target), told, first)
        return Point(name, target, judge(name, head(done, split)), judge(name, tail(done, split)))

    def grid_of(name: str) -> tuple[Point, ...]:
        return tuple(point(name, target) for target in POLICIES[name].grid)

    points: list[Point] = []
    for name in baselines:
        key = _key(workload, setting, (name, POLICIES[name].grid))
        points += _kept(cache, key, lambda name=name: grid_of(name))  # type: ignore[misc]  # bound at once
    best = _kept(cache, _key(workload, setting, ("oracle",)), lambda: oracle(workload, setting, split))
    return Contest(workload.name, cold_start_seconds, tuple(points), point("sloscope", 1.0), best)


def _key(workload: Workload, setting: Setting, what: tuple[object, ...]) -> str:
    """Return a digest of the demand, the setting, what is run on it, and the source of policies, fluid and oracle."""
    digest = sha256(workload.demand.tobytes() + repr((setting, what)).encode())
    for module in (fluid, oracle_module, outcome):
        digest.update(Path(str(module.__file__)).read_bytes())
    for file in sorted(Path(str(policies.__file__)).parent.glob("*.py")):
        if file.name not in ("recommender.py", "registry.py"):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:24]


def _kept(cache: Path | None, key: str, compute: Callable[[], Kept]) -> Kept:
    """Return what is kept under the key, else compute and keep it; without a folder compute always."""
    if cache is None:
        return compute()
    path = cache / f"{key}.pickle"
    if path.is_file():
        found: Kept = pickle.loads(path.read_bytes())
        return found
    result = compute()
    cache.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(result))
    return result


def head(done: Run, last: int) -> Run:
    """Return the run up to tick `last`."""
    parts = (done.asked, done.ready, done.arrived, done.good, done.billed, done.queue)
    asked, ready, arrived, good, billed, queue = (part[:last] for part in parts)
    return Run(done.tick_seconds, asked, ready, arrived, good, billed, queue)  # type: ignore[arg-type]  # sliced alike


def oracle(workload: Workload, setting: Setting, split: int) -> Outcome:
    """Return the clairvoyant plan's outcome on the reported days."""
    demand = workload.demand[split:]
    costs = Costs(60.0, setting.cold_start_seconds, setting.in_flight / setting.capacity)

    def played(plan: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Outcome:
        return judge("oracle", run(demand, Planned(setting, plan, 60.0), setting, int(plan[0])))

    return played(cheapest(demand, setting.capacity, costs, lambda plan: played(plan).good_ratio, TARGET, rounds=8))

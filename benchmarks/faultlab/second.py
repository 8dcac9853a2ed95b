"""Asks for explanations of faults in the second, event-driven laboratory, which nothing was tuned on at first sight.

`python -m benchmarks.faultlab.second [--seeds N]`; the window asked for is off by up to a minute and a half, as those
of people are, and a third of the questions name only a moment.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np

from benchmarks.faultlab.cases import tables
from benchmarks.faultlab.eventworld import (
    BEGIN_US,
    GATEWAY_SECONDS,
    HORIZON,
    MODEL,
    Service,
    cold,
    draw,
    draw_requests,
    join,
    pulses,
    since,
    store,
)
from collector.answers.explain import explain
from collector.store.reader import DuckReader
from signals.views import VIEWS

FIRST_SEED = 77_000


def traffic_spike(s: Service) -> None:
    """More of everybody, or of one tenant, rising within two minutes."""
    factor = float(s.rng.uniform(0.9, 1.8)) * 2
    count = s.rng.poisson(s.rate * factor * (s.until - s.since))
    t = np.sort(s.rng.uniform(s.since, s.until, count))
    t = t[s.rng.random(count) < np.clip((t - s.since) / 120, 0.1, 1)]
    tenant = int(s.rng.integers(0, 3)) if s.rng.random() < 0.4 else None
    join(s, t, draw_requests(s.rng, len(t), float(s.columns["output"].mean()), tenant))
    s.accepted = ("traffic_spike",)


def preemption(s: Service) -> None:
    """Something takes part of the memory of all instances."""
    full = s.memory
    left = float(s.rng.uniform(0.3, 0.45))
    s.memory_of = dict.fromkeys(range(s.size), lambda t: full * (left if s.on(t) else 1.0))
    s.accepted = ("preemption",)


def slow_instance(s: Service) -> None:
    """One instance computes several times slower; its clock tells where GPUs are watched."""
    place, factor = int(s.rng.integers(s.size)), float(s.rng.uniform(3, 6))
    s.slowness[place] = s.drag[place] = lambda t: factor if s.on(t) else 1.0
    s.clock[place] = 0.55
    s.accepted = ("gpu_throttle",) if s.rich else ("slow_prefill",)


def gateway_overhead(s: Service) -> None:
    """The gateway's workers need so much longer that they hardly keep up."""
    factor = s.workers / (s.rate * GATEWAY_SECONDS) * float(s.rng.uniform(0.9, 1.02))
    s.gateway_work = lambda t: factor if s.on(t) else 1.0
    s.accepted = ("gateway_overhead",)


def slow_start(s: Service) -> None:
    """A new instance joins and warms up over minutes."""
    place = s.size - 1
    s.born = {place}
    s.slowness[place] = s.drag[place] = cold(s.since, float(s.rng.uniform(8, 20)), 300.0)
    s.accepted = ("slow_start",)


def release_regression(s: Service) -> None:
    """A version rolls out one instance after another and is slower."""
    some = s.rng.permutation(s.size)[: max(1, int(s.size * s.rng.uniform(0.4, 1.01)))]
    factor = float(s.rng.uniform(2.5, 5))
    for number, place in enumerate(some.tolist()):
        t0 = s.since + 20.0 * number
        s.moved[place] = t0
        s.slowness[place], s.drag[place] = since(t0, factor), since(t0, 1.6)
    s.changes.append((s.since - 30, "release", "r8", "r8"))
    s.accepted = ("release_regression",)


def long_requests(s: Service) -> None:
    """One tenant sends documents."""
    count = s.rng.poisson(s.rate * 0.12 * (s.until - s.since))
    t = np.sort(s.rng.uniform(s.since, s.until, count))
    more = draw_requests(s.rng, count, float(s.columns["output"].mean()), 5)
    more["tokens"] = s.rng.integers(18_000, 60_000, count)
    more["cached"] = np.zeros(count, dtype=np.int64)
    join(s, t, more)
    s.memory *= 2.5
    s.accepted = ("long_requests",)


def kv_transfer_stall(s: Service) -> None:
    """The network between prefill and decode loses most of its bandwidth."""
    s.rich = True
    factor = float(s.rng.uniform(25, 80))
    s.wire = lambda t: factor if s.on(t) else 1.0
    s.accepted = ("kv_transfer_stall",)


def engine_pause(s: Service) -> None:
    """One engine, or all, stand still for seconds again and again."""
    every, length = float(s.rng.uniform(30, 60)), float(s.rng.uniform(4, 8))
    places = [int(s.rng.integers(s.size))] if s.rng.random() < 0.6 else list(range(s.size))
    for place in places:
        s.slowness[place] = s.drag[place] = pulses(s.since, s.until, every, length)
    starts = np.arange(s.since, s.until, every)
    s.bends += [*starts.tolist(), *(starts + length).tolist()]
    s.accepted = ("engine_pause",)


def fewer_instances(s: Service) -> None:
    """Half of the instances crash."""
    s.gone = set(s.rng.permutation(s.size)[: max(1, round(s.size * s.rng.uniform(0.5, 0.65)))].tolist())
    s.accepted = ("fewer_instances",)


def routing_hotspot(s: Service) -> None:
    """The router sends a third of the traffic to its favourite."""
    s.favourite = int(s.rng.integers(s.size))
    s.accepted = ("routing_hotspot",) if s.size > 3 else ("routing_hotspot", "traffic_spike")


def prefix_miss(s: Service) -> None:
    """Long prompts that used to be cached are no longer."""
    tokens = (s.columns["tokens"] * 4).clip(50, 40_000)
    s.columns["tokens"] = tokens
    s.columns["cached"] = np.where(s.during(), 0, tokens * 0.9).astype(np.int64)
    s.memory *= 4
    s.accepted = ("prefix_miss",)


def output_tail(s: Service) -> None:
    """Answers get several times longer."""
    s.columns["output"] = np.where(s.during(), s.columns["output"] * 4, s.columns["output"]).clip(3, 6_000)
    s.memory *= 4
    s.accepted = ("output_tail",)


def admission_blocked(s: Service) -> None:
    """Seats are cut without a word in the change log."""
    left = max(round(s.seats * s.rng.uniform(0.3, 0.42)), 2)
    s.seats_of = dict.fromkeys(range(s.size), lambda t: float(left if s.on(t) else s.seats))
    s.accepted = ("admission_blocked",)


def noisy_neighbour(s: Service) -> None:
    """A batch job takes the CPU of one host."""
    s.rich = True
    place, factor = int(s.rng.integers(s.size)), float(s.rng.uniform(3, 5))
    s.slowness[place] = s.drag[place] = lambda t: factor if s.on(t) else 1.0
    s.pressure[place] = float(s.rng.uniform(0.25, 0.6))
    s.accepted = ("noisy_neighbour",)


def gpu_fault(s: Service) -> None:
    """A GPU reports an XID and its instance crawls."""
    place, factor = int(s.rng.integers(s.size)), float(s.rng.uniform(3, 7))
    s.slowness[place] = s.drag[place] = lambda t: factor if s.on(t) else 1.0
    s.xid = place
    s.accepted = ("gpu_fault",)


def no_fault(s: Service) -> None:
    """Nothing happens but the day going on."""


FAULTS: dict[str, Callable[[Service], None]] = {
    fault.__name__: fault
    for fault in (
        traffic_spike, preemption, slow_instance, gateway_overhead, slow_start, release_regression, long_requests,
        kv_transfer_stall, engine_pause, fewer_instances, routing_hotspot, prefix_miss, output_tail, admission_blocked,
        noisy_neighbour, gpu_fault, no_fault,
    )
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run every fault over the seeds; print accuracy by fault and each miss."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faultlab.second", description=__doc__)
    parser.add_argument("--seeds", type=int, default=4, help="cases of each fault")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="first seed")
    parser.add_argument("--only", default="", help="faults, by comma")
    asked = parser.parse_args(argv)
    right: dict[str, list[bool]] = defaultdict(list)
    near: dict[str, list[bool]] = defaultdict(list)
    connection = tables()
    reader = DuckReader(connection)
    for number, (name, fault) in enumerate(FAULTS.items()):
        for seed in range(asked.seeds):
            if asked.only and name not in asked.only.split(","):
                continue
            service = draw(asked.first + 100 * number + seed)
            fault(service)
            for view in VIEWS:
                connection.execute(f"delete from {view}")
            store(service, connection)
            if name != "no_fault" and not _felt(service, connection):
                continue
            answer = _ask(service, reader)
            causes = answer["causes"]
            assert isinstance(causes, list)
            order = [cause["cause"] for cause in causes]
            told = answer["verdict"] == "explained"
            good = not told if name == "no_fault" else told and order[:1] != [] and order[0] in service.accepted
            right[name].append(good)
            near[name].append(not told if name == "no_fault" else bool(set(order[:3]) & set(service.accepted)))
            if not good:
                scores = [(c["cause"], c["score"]) for c in causes[:4]]
                print(
                    f"  {name} {asked.first + 100 * number + seed}: {answer['verdict']} {answer['stage']} {scores}",
                    flush=True,
                )
    for name in FAULTS:
        if right[name]:
            print(f"{name:<22}{len(right[name]):>4}{np.mean(right[name]):>7.2f}{np.mean(near[name]):>7.2f}")
    faults = [value for name, values in right.items() if name != "no_fault" for value in values]
    print(f"top 1 over {len(faults)} faults: {np.mean(faults):.3f}")
    return 0


def _felt(service: Service, connection: duckdb.DuckDBPyConnection) -> bool:
    """Say whether the fault was an incident: P99 rose by a third, requests that timed out counted."""
    row = connection.execute(
        "select quantile_cont(v, 0.99) filter (where not d), quantile_cont(v, 0.99) filter (where d) from (select "
        "case when status = 'timeout' then 1e9 else ttft_seconds end as v, epoch_us(ts) >= ? as d from requests "
        "where epoch_us(ts) < ?)",
        [BEGIN_US + int(service.since * 1e6), BEGIN_US + int(service.until * 1e6)],
    ).fetchone()
    return row is not None and None not in row and row[1] > 1.33 * row[0]


def _ask(service: Service, reader: DuckReader) -> dict[str, object]:
    begin = datetime.fromtimestamp(BEGIN_US / 1e6, UTC)
    now = begin + timedelta(seconds=HORIZON)
    if service.rng.random() < 1 / 3:
        middle = begin + timedelta(seconds=0.5 * (service.since + service.until))
        return explain(reader, now, model=MODEL, metric=service.metric, at=middle)
    start = begin + timedelta(seconds=service.since + float(service.rng.uniform(-60, 90)))
    end = begin + timedelta(seconds=min(service.until + float(service.rng.uniform(-90, 60)), HORIZON))
    return explain(reader, now, model=MODEL, metric=service.metric, start=start, end=end)


if __name__ == "__main__":
    raise SystemExit(main())

"""Measures the recommender against tuned autoscalers: GPU-hours at equal good ratio, flaps, faults, decision time.

Baselines' targets are tuned by grid in a fluid model on days 1-7 and everybody is reported on days 8-14; the
recommender runs on one default configuration. Rows are given in two readings (`benchmarks.fleet.readings`): against
baselines as tuned, and, harsher, against whichever target of any grid proves cheapest in hindsight. At a cold start of
180 s the second row of baselines competes too.
`--all` has every baseline on six workloads at every cold start, `--quick` runs one workload. Baselines and oracle are
kept in build/bench/scaling/ until their source changes (`--fresh` measures them again). Two processes share the work.
The grids are written to build/bench/scaling-grid.csv.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from analytics.replay import Arrivals, arrivals
from analytics.replay.scorecard import Fleet, Objective, demand_of, play
from analytics.scaling import (
    Capacity,
    ColdStart,
    Demand,
    Load,
    Pool,
    PoolState,
    Sight,
    decide_all,
)
from analytics.scaling.policies import POLICIES
from benchmarks.fleet.contest import TARGET, TUNING_DAYS, Contest, Point, contest, setting_of
from benchmarks.fleet.faults import faults
from benchmarks.fleet.readings import all_tuned, as_tuned, in_hindsight
from benchmarks.fleet.workloads import Workload, workloads
from benchmarks.report import BUILD, Row, write

FIRST = ("hpa-queue", "keda-in-flight", "knative", "dynamo", "yesterday", "static-peak")
EVERY = tuple(name for name in POLICIES if name != "sloscope")
COLD_STARTS = (30.0, 180.0, 600.0)
#: The cold start at which the second row of baselines competes too, and the oracle's limit is set.
MIDDLE = 180.0
#: The four of the default run: two curves, two length mixes, tenants, bursts.
USUAL = (0, 3, 4, 5)
#: Length of the stretch of day 8 that the winners are replayed on, request by request.
REPLAYED_SECONDS = 2400.0
PROCESSES = 2

#: How the best baseline is found: the reading that has the targets, and the harsher one.
Reading = Callable[..., tuple[float, Point]]
READINGS: dict[str, Reading] = {"best_tuned": as_tuned, "best_in_hindsight": in_hindsight}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every baseline and workload")
    parser.add_argument("--quick", action="store_true", help="one workload")
    parser.add_argument("--fresh", action="store_true", help="measure baselines and oracle again")
    wish = parser.parse_args(argv)
    begun = time.perf_counter()
    chosen = range(6) if wish.all else USUAL[:1] if wish.quick else USUAL
    cache = None if wish.fresh else BUILD / "scaling"
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        asked = [
            pool.submit(_contest, k, lead, EVERY if wish.all or lead == MIDDLE else FIRST, cache)
            for k in chosen
            for lead in COLD_STARTS
        ]
        injected = [pool.submit(_faults, k) for k in chosen]
        contests = []
        for future in asked:
            contests.append(future.result())
            _show(contests[-1])
        shrinks, cascades, count = map(sum, zip(*(future.result() for future in injected), strict=True))
    _publish(contests)
    rows = _compared(contests)
    rows += [
        Row("shrinks_while_blind", shrinks, ""),
        Row("cascades", cascades, ""),
        Row("faults_injected", count, ""),
        Row("decide_4000_pools_seconds", _decide_seconds(), "s"),
    ]
    rows += _each(contests)
    rows += _replayed([_workloads()[k] for k in chosen], [c for c in contests if c.cold_start_seconds == MIDDLE])
    rows.append(Row("bench_minutes", (time.perf_counter() - begun) / 60, "min"))
    write("scaling", rows)
    return 0


@lru_cache(maxsize=1)
def _workloads() -> list[Workload]:
    return workloads()


def _contest(place: int, lead: float, baselines: tuple[str, ...], cache: Path | None) -> Contest:
    return contest(_workloads()[place], lead, list(baselines), cache)


def _faults(place: int) -> tuple[int, int, int]:
    return faults(_workloads()[place])


def _compared(contests: list[Contest]) -> list[Row]:
    """Return the rows that have a target, and their harsher siblings: the worst workload counts."""
    rows = []
    for lead in COLD_STARTS:
        mine = [c for c in contests if c.cold_start_seconds == lead]
        for item, reading in READINGS.items():
            ratios = [_hours_ratio(c, reading) for c in mine]
            worst = int(np.argmax(ratios))
            best = reading(mine[worst])[1].policy
            name = f"gpu_hours_vs_{item}_{lead:.0f}s"
            rows.append(Row(name, ratios[worst], "", f"{best} ({mine[worst].workload})", ratios[worst]))
            rows.append(Row(f"{name}_geomean", _geomean(ratios), ""))
        rows.append(Row(f"good_ratio_worst_{lead:.0f}s", min(c.ours.reported.good_ratio for c in mine), ""))
    middle = [c for c in contests if c.cold_start_seconds == MIDDLE]
    over = [c.oracle_ratio() for c in middle]
    rows.append(Row("gpu_hours_vs_oracle_180s", max(over), "", "oracle", max(over)))
    rows.append(Row("gpu_hours_vs_oracle_180s_geomean", _geomean(over), ""))
    for item, reading in (("flaps_vs_best_baseline", as_tuned), ("flaps_vs_best_in_hindsight", in_hindsight)):
        flaps = [_flap_ratio(c, reading) for c in contests]
        rows.append(Row(item, max(flaps), "", "the cheapest baseline that scales", max(flaps)))
        rows.append(Row(f"{item}_geomean", _geomean(flaps), ""))
    return rows


def _each(contests: list[Contest]) -> list[Row]:
    """Return the rows of every combination."""
    rows = []
    for c in contests:
        where = f"{c.workload}, {c.cold_start_seconds:.0f} s"
        for item, reading in READINGS.items():
            best = reading(c)[1]
            rows.append(
                Row(f"gpu_hours_ratio {item} {where}", _hours_ratio(c, reading), "", f"{best.policy} {best.target:g}")
            )
        rows.append(Row(f"good_ratio {where}", c.ours.reported.good_ratio, ""))
        rows.append(Row(f"oracle_ratio {where}", c.oracle_ratio(), ""))
        for item, reading in READINGS.items():
            rows.append(Row(f"flap_ratio {item} {where}", _flap_ratio(c, reading), "", reading(c, True)[1].policy))
    return rows


def _hours_ratio(done: Contest, reading: Reading) -> float:
    """Return our GPU-hours over those of the best baseline."""
    return done.ours.reported.gpu_hours / reading(done)[0]


def _flap_ratio(done: Contest, reading: Reading) -> float:
    """Return our flaps over those of the best baseline that scales at all."""
    return done.ours.reported.flaps / max(reading(done, True)[1].reported.flaps, 1)


def _geomean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def _show(done: Contest) -> None:
    ours = done.ours.reported
    print(f"\n{done.workload}, cold start {done.cold_start_seconds:.0f} s")
    print(f"  {'policy':<16}{'target':>8}{'good':>9}{'bad min':>9}{'GPU-h':>9}{'x oracle':>9}{'flaps':>7}")
    table = [(p.policy, f"{p.target:g}", p.reported) for p in all_tuned(done)]
    for name, target, o in [("oracle", "", done.oracle), ("sloscope", "", ours), *table]:
        over = o.gpu_hours / done.oracle.gpu_hours
        print(
            f"  {name:<16}{target:>8}{o.good_ratio:>9.4f}{o.bad_minutes:>9}{o.gpu_hours:>9.0f}{over:>9.3f}{o.flaps:>7}"
        )
    for how, reading in (("as tuned", as_tuned), ("in hindsight", in_hindsight)):
        hours, best = reading(done)
        print(
            f"  at our good ratio ({min(ours.good_ratio, TARGET):.4f}) the cheapest baseline {how} is"
            f" {best.policy} with {hours:.0f} GPU-h: ours is {ours.gpu_hours / hours:.3f} of it",
            flush=True,
        )


def _publish(contests: list[Contest]) -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "scaling-grid.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["workload", "cold_start", "policy", "target", "days", "good_ratio", "gpu_hours", "flaps", "events"]
        )
        for done in contests:
            for point in (*done.points, done.ours):
                for days, o in (("1-7", point.tuning), ("8-14", point.reported)):
                    figures = [f"{o.good_ratio:.5f}", f"{o.gpu_hours:.1f}", o.flaps, o.scale_events]
                    writer.writerow(
                        [done.workload, done.cold_start_seconds, point.policy, point.target, days, *figures]
                    )


def _replayed(chosen: list[Workload], contests: list[Contest]) -> list[Row]:
    """Replay a stretch of day 8 request by request: ours and the best tuned baseline of each workload."""
    rows = []
    for workload, done in zip(chosen, contests, strict=True):
        best = as_tuned(done)[1]
        setting = setting_of(workload, 180.0)
        start = int(TUNING_DAYS * 86_400 / workload.tick_seconds)
        part = workload.demand[start : start + int(REPLAYED_SECONDS / workload.tick_seconds)]
        load = _requests(workload, part)
        fleet, aim = (
            Fleet(workload.engine, largest=300),
            Objective(workload.objective_ttft, workload.objective_tpot * 2),
        )
        first = int(np.ceil(demand_of(load)[:20].mean() / setting.capacity * 1.3))
        for name, target in (("sloscope", 1.0), (best.policy, best.target)):
            o = play(name, load, POLICIES[name].make(setting, target), setting, fleet, aim, first)
            print(f"replayed {workload.name}: {name:<16} good {o.good_ratio:.4f}", end=" ")
            print(f"GPU-h {o.gpu_hours:.1f} P99 {o.p99_ttft:.2f} s")
            rows.append(Row(f"replayed_good_ratio {workload.name} {name}", o.good_ratio, ""))
            rows.append(Row(f"replayed_gpu_hours {workload.name} {name}", o.gpu_hours, "h"))
    return rows


def _requests(workload: Workload, demand: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Arrivals:
    generator = np.random.default_rng(3)
    counts = np.rint(demand * workload.tick_seconds).astype(int)
    ticks = np.repeat(np.arange(len(counts)), counts)
    seconds = np.sort((ticks + generator.random(len(ticks))) * workload.tick_seconds)
    pick = np.arange(len(seconds)) % len(workload.lengths.input_tokens)
    lengths = workload.lengths
    return arrivals(seconds, lengths.input_tokens[pick], lengths.output_tokens[pick], lengths.cached[pick])


def _decide_seconds() -> float:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    states = [
        PoolState(
            Pool(f"pool-{k}", f"model-{k % 200}", region=f"region-{k // 200}"),
            current=10,
            ready=10,
            demand=Demand(100.0, 105.0, 110.0 + k % 50, 130.0, 140.0, 115.0, "recent level"),
            capacity=Capacity(10.0, 9.0, 11.0, "frontier", 300, 20.0),
            cold_start=ColdStart(100.0, 180.0, 30, "measured"),
            load=Load(3.0, 150.0, 0.5, 0.5, 0.4, 2.0, 1.5),
            sight=Sight(now, 10, 10),
        )
        for k in range(4000)
    ]
    begun = time.perf_counter()
    decide_all(states, now)
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main())

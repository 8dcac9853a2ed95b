"""Measures explanations on faults injected into simulated fleets, beside six other methods and chance.

`python -m benchmarks.rootcause [--quick | --full]`; test seeds only. Inconclusive on a fault counts as a miss.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from time import perf_counter, process_time

import duckdb
import numpy as np

from benchmarks.faultlab.baselines import segments, signals
from benchmarks.faultlab.cases import CONTROL, TEST_SEEDS, Case, listed, make, tables
from benchmarks.faultlab.faults import FAULTS
from benchmarks.faultlab.record import MODEL
from benchmarks.faultlab.scoring import Outcome, calibration_error
from benchmarks.faultlab.trials import moment, trials
from benchmarks.faultlab.world import World
from benchmarks.report import Row, write
from collector.answers.explain import explain
from collector.store.reader import DuckReader

SEEDS, CONTROLS = 7, 140
QUICK_SEEDS, QUICK_CONTROLS = 1, 20
#: About two thousand cases, on seeds that no other run has.
FULL_SEEDS, FULL_CONTROLS, FULL_FIRST = 24, 140, TEST_SEEDS + 500_000


class Peers:
    """Keeps how often each other method pointed at the right segment or cause, on the same cases as ours."""

    def __init__(self) -> None:
        self.segments: dict[str, list[bool]] = defaultdict(list)
        self.causes: dict[str, list[bool]] = defaultdict(list)
        self._rng = np.random.default_rng(7)

    def __call__(
        self, case: Case, world: World, connection: duckdb.DuckDBPyConnection, start: datetime, end: datetime
    ) -> None:
        if case.fault == CONTROL:
            return
        for method, cause in signals(connection, start, end).items():
            self.causes[method].append(cause == case.fault)
        self.causes["random"].append(bool(self._rng.choice(list(FAULTS)) == case.fault))
        if {} in world.segments:
            # These methods always name a segment; where everything is the answer, asking them would be unfair.
            return
        for method, segment in segments(connection, world.metric, start, end, self._rng).items():
            self.segments[method].append(segment in world.segments)


def main(argv: Sequence[str] = ()) -> int:
    """Run all cases and write build/bench/rootcause.json."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rootcause", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed of each fault and severity, about a minute")
    parser.add_argument("--full", action="store_true", help="about 2,000 cases, about half an hour")
    parser.add_argument("--minutes", type=float, help="begin no further case after so long, and report what was run")
    asked = parser.parse_args(argv)
    quick: bool = asked.quick
    cases = listed(TEST_SEEDS, QUICK_SEEDS if quick else SEEDS, QUICK_CONTROLS if quick else CONTROLS)
    if asked.full:
        cases = iter(mixed(list(listed(FULL_FIRST, FULL_SEEDS, FULL_CONTROLS))))
    if asked.minutes is not None:
        cases = until(cases, perf_counter() + 60 * asked.minutes)
    peers = Peers()
    outcomes, dropped = [], 0
    for outcome in trials(cases, peers):
        if isinstance(outcome, Case):
            dropped += 1
        else:
            outcomes.append(outcome)
    faults = [outcome for outcome in outcomes if outcome.case.fault != CONTROL]
    controls = [outcome for outcome in outcomes if outcome.case.fault == CONTROL]
    _print_by_fault(faults, dropped)
    rows = _rows(faults, controls, peers)
    seconds, cpu_seconds = _seconds_at_scale(100_000 if quick else 1_000_000)
    rows.append(Row("seconds_per_case_1m_requests", seconds, "s"))
    rows.append(Row("cpu_seconds_per_case_1m_requests", cpu_seconds, "s"))
    write("rootcause", rows)
    return 0


def mixed(cases: list[Case]) -> list[Case]:
    """Order cases so that any beginning of them holds every fault, severity and controls alike."""
    groups: dict[tuple[str, int], list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.fault, case.severity].append(case)
    placed = [(place / len(group), case) for group in groups.values() for place, case in enumerate(group)]
    return [case for _, case in sorted(placed, key=lambda item: item[0])]


def until(cases: Iterator[Case], end: float) -> Iterator[Case]:
    """Yield cases as long as the clock allows."""
    for case in cases:
        if perf_counter() > end:
            return
        yield case


def _rows(faults: list[Outcome], controls: list[Outcome], peers: Peers) -> list[Row]:
    cause = _share([outcome.top_right for outcome in faults])
    segment = _share([outcome.segment_right for outcome in faults])
    narrow = _share([outcome.segment_right for outcome in faults if {} not in outcome.wanted])
    print("method                 segment  cause   (segments: cases that have one)")
    for method in ("random", "p99_ratio", "z_mean", "bubbleup", "adtributor", "z_score", "baro"):
        parts = [
            f"{_share(found[method]):>8.3f}" if method in found else "       -"
            for found in (peers.segments, peers.causes)
        ]
        print(f"{method:<22}{parts[0]}{parts[1]}")
    print(f"{'ours':<22}{narrow:>8.3f}{cause:>8.3f}")
    best_segment = max(peers.segments, key=lambda name: _share(peers.segments[name]))
    best_cause = max(peers.causes, key=lambda name: _share(peers.causes[name]))
    ahead = {
        f"segment of {best_segment}": narrow - _share(peers.segments[best_segment]),
        f"cause of {best_cause}": cause - _share(peers.causes[best_cause]),
    }
    closest = min(ahead, key=lambda name: ahead[name])
    chance = 1 / len(FAULTS)
    right = [outcome.order[:1] == [outcome.case.fault] for outcome in faults]
    return [
        Row("cause_top1", cause, "", "chance", cause / chance),
        Row(
            "cause_top3",
            _share([o.among_three for o in faults]),
            "",
            "chance",
            _share([o.among_three for o in faults]) / (3 * chance),
        ),
        Row("segment_top1", segment, "", "random", narrow / max(_share(peers.segments["random"]), 1e-3)),
        Row("top1_over_best_baseline", ahead[closest], "", closest, None),
        Row("stage_accuracy", _share([o.stage_right for o in faults]), ""),
        Row("false_explanations_on_controls", _share([o.verdict == "explained" for o in controls]), ""),
        Row("expected_calibration_error", calibration_error([o.confidence for o in faults], right), ""),
        Row("cases", float(len(faults) + len(controls)), ""),
        Row("brier_score", float(np.mean([(o.confidence - r) ** 2 for o, r in zip(faults, right, strict=True)])), ""),
        Row("seconds_per_case_30k_requests", float(np.mean([o.seconds for o in faults])), "s"),
    ]


def _print_by_fault(faults: list[Outcome], dropped: int) -> None:
    print(f"{len(faults)} faults ({dropped} more did not raise P99 by a third and are no incidents)")
    print(f"{'fault':<24}{'n':>4}{'top1':>7}{'top3':>7}{'segment':>9}{'stage':>7}{'confidence':>12}")
    for fault in FAULTS:
        found = [outcome for outcome in faults if outcome.case.fault == fault]
        if found:
            shares = [
                _share([getattr(outcome, name) for outcome in found])
                for name in ("top_right", "among_three", "segment_right", "stage_right")
            ]
            mean = float(np.mean([outcome.confidence for outcome in found]))
            print(
                f"{fault:<24}{len(found):>4}{shares[0]:>7.2f}{shares[1]:>7.2f}{shares[2]:>9.2f}{shares[3]:>7.2f}{mean:>12.2f}"
            )
    for name in ("confounder", "severity"):
        groups: dict[object, list[bool]] = defaultdict(list)
        for outcome in faults:
            groups[getattr(outcome.case, name)].append(outcome.top_right)
        print(
            f"top1 by {name}: "
            + ", ".join(f"{key} {_share(found):.2f}" for key, found in sorted(groups.items(), key=str))
        )
    wrong: dict[str, int] = defaultdict(int)
    for outcome in faults:
        if not outcome.top_right:
            wrong[f"{outcome.case.fault} -> {outcome.top} ({outcome.verdict})"] += 1
    for text, count in sorted(wrong.items(), key=lambda item: -item[1])[:15]:
        print(f"  {count:>3} {text}")


def _seconds_at_scale(requests: int) -> tuple[float, float]:
    """Return (wall, CPU) seconds of one explanation over a case of so many requests, the medians of five."""
    connection = tables()
    world = make(Case("slow_prefill", 2, "none", TEST_SEEDS + 777), connection, 60_000)
    copies = max(requests // 60_000, 1)
    connection.execute(
        "insert into requests select r.* replace (r.ts + to_microseconds(i * 977) as ts) "
        "from requests r, range(1, ?) t(i)",
        [copies],
    )
    reader, found, cpu = DuckReader(connection), [], []
    for _ in range(5):
        began, began_cpu = perf_counter(), process_time()
        answer = explain(
            reader, moment(world.horizon), model=MODEL, start=moment(world.fault_from), end=moment(world.fault_to)
        )
        found.append(perf_counter() - began)
        cpu.append(process_time() - began_cpu)
    count = connection.execute("select count(*) from requests").fetchone()
    print(f"{count[0] if count else 0:,} requests: {np.median(found):.2f} s, verdict {answer['verdict']}")
    return float(np.median(found)), float(np.median(cpu))


def _share(values: Sequence[bool]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

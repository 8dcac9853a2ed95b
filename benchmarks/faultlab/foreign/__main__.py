"""Asks for explanations of faults in the foreign laboratory; prints how often they are right, by fault and by gap.

`python -m benchmarks.faultlab.foreign [--seeds N] [--first N] [--only a,b] [--verbose]`. Where nothing that is recorded
could tell the cause, its look-alikes and "inconclusive" are right as well.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import perf_counter

import numpy as np

from benchmarks.faultlab.cases import tables
from benchmarks.faultlab.foreign.cases import CONTROL, Case, make, segment_right
from benchmarks.faultlab.foreign.columns import BEGIN_US
from benchmarks.faultlab.foreign.details import FAULTS
from collector.answers.explain import explain
from collector.store.reader import DuckReader

FIRST_SEED = 40_000_000


@dataclass(frozen=True, slots=True)
class Graded:
    """How one case went."""

    case: Case
    verdict: str
    top: str | None
    right: bool
    near: bool
    segment: bool
    stage: bool
    seconds: float
    answer: dict[str, object]


def ask(case: Case, reader: DuckReader) -> dict[str, object]:
    """Ask as people do: a window that is a little off, a moment, or just what is wrong now."""
    habits, rng = case.fleet.habits, np.random.default_rng(case.seed + 1)
    begin = datetime.fromtimestamp(BEGIN_US / 1e6, UTC)
    now = begin + timedelta(seconds=habits.horizon)
    length, metric = habits.until - habits.since, case.fleet.truth.metric
    if habits.question == "at":
        middle = begin + timedelta(seconds=habits.since + float(rng.uniform(0.4, 0.7)) * length)
        return explain(reader, now, model=habits.model, metric=metric, at=middle)
    if habits.question == "open" and habits.horizon - habits.since < 9000:
        answer = explain(reader, now, model=habits.model, metric=metric)
        found = answer.get("window")
        # Restless services have other incidents too; whoever is shown one asks on.
        if isinstance(found, dict) and str(found["to"]) > _text(begin, habits.since):
            return answer
        return explain(
            reader, now, model=habits.model, metric=metric, at=begin + timedelta(seconds=habits.since + 0.5 * length)
        )
    off = min(90.0, 0.15 * length)
    start = begin + timedelta(seconds=habits.since + float(rng.uniform(-off, off)))
    end = begin + timedelta(seconds=min(habits.until + float(rng.uniform(-off, off)), habits.horizon))
    return explain(reader, now, model=habits.model, metric=metric, start=start, end=end)


def _text(begin: datetime, seconds: float) -> str:
    return (begin + timedelta(seconds=seconds)).isoformat()


def grade(case: Case, answer: dict[str, object], seconds: float) -> Graded:
    """Compare an answer with the truth."""
    causes = answer["causes"]
    assert isinstance(causes, list)
    order = [str(cause["cause"]) for cause in causes]
    told = answer["verdict"] == "explained"
    top = order[0] if order else None
    if case.fault == CONTROL:
        # Bursts are part of restless traffic: a rise that is named for what it is, is no false explanation.
        fine = not told or (top == "traffic_spike" and case.felt)
        return Graded(case, str(answer["verdict"]), top, fine, fine, True, True, seconds, answer)
    quiet = not case.told and answer["verdict"] == "inconclusive"
    right = quiet or (told and top in case.accepted)
    near = quiet or (told and bool(set(order[:3]) & case.accepted))
    segment = quiet or (told and segment_right(case, causes[0]["segment"]))
    stage = case.stage is None or answer["stage"] == case.stage or "stages" in case.missing
    return Graded(case, str(answer["verdict"]), top, right, near, segment, stage, seconds, answer)


def main(argv: Sequence[str] | None = None) -> int:
    """Run every fault over the seeds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faultlab.foreign", description=__doc__)
    parser.add_argument("--seeds", type=int, default=6, help="cases of each fault")
    parser.add_argument("--controls", type=int, default=40, help="cases without a fault")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="first seed")
    parser.add_argument("--only", default="", help="faults, by comma")
    parser.add_argument("--verbose", action="store_true", help="print each miss")
    asked = parser.parse_args(argv)
    connection = tables()
    reader = DuckReader(connection)
    graded: list[Graded] = []
    unfelt = 0
    for number, name in enumerate(FAULTS):
        if asked.only and name not in asked.only.split(","):
            continue
        for seed in range(asked.controls if name == CONTROL else asked.seeds):
            case = make(name, asked.first + 1000 * number + seed, connection)
            if name != CONTROL and not case.felt:
                unfelt += 1
                continue
            began = perf_counter()
            answer = ask(case, reader)
            graded.append(grade(case, answer, perf_counter() - began))
            if asked.verbose and not graded[-1].right:
                _tell(graded[-1])
    _report(graded, unfelt)
    return 0


def _tell(one: Graded) -> None:
    habits, causes = one.case.fleet.habits, one.answer["causes"]
    assert isinstance(causes, list)
    scores = [(c["cause"], c["score"], c["confidence"]) for c in causes[:4]]
    gaps = ",".join(sorted(one.case.missing))
    print(
        f"  {one.case.fault} {one.case.seed} [{gaps}] n={len(habits.instances)} rate={one.case.fleet.rate:.1f} "
        f"{habits.horizon / 3600:.1f}h {(habits.until - habits.since) / 60:.0f}min {habits.question} "
        f"sev={habits.severity:.2f} scrape={habits.scrape_seconds:.0f}: {one.verdict} {one.answer['stage']} "
        f"(true {one.case.stage}) {scores}",
        flush=True,
    )


def _report(graded: list[Graded], unfelt: int) -> None:
    faults = [one for one in graded if one.case.fault != CONTROL]
    controls = [one for one in graded if one.case.fault == CONTROL]
    print(f"{len(faults)} faults, {unfelt} more were too weak to be an incident, {len(controls)} controls")
    print(f"{'':<24}{'n':>5}{'top1':>7}{'top3':>7}{'segment':>9}{'stage':>7}{'silent':>8}")
    groups: dict[str, list[Graded]] = defaultdict(list)
    for one in faults:
        groups[one.case.fault].append(one)
    for one in faults:
        for gap in sorted(one.case.missing) or ["nothing missing"]:
            groups[f"- {gap}"].append(one)
        groups["told" if one.case.told else "untold"].append(one)
        groups[f"asked {one.case.fleet.habits.question}"].append(one)
    groups["all"] = faults
    for name, found in groups.items():
        shares = [np.mean([getattr(one, key) for one in found]) for key in ("right", "near", "segment", "stage")]
        silent = np.mean([one.verdict != "explained" for one in found])
        print(
            f"{name:<24}{len(found):>5}{shares[0]:>7.2f}{shares[1]:>7.2f}{shares[2]:>9.2f}{shares[3]:>7.2f}{silent:>8.2f}"
        )
    if controls:
        loud = [one for one in controls if one.verdict == "explained"]
        print(
            f"controls explained: {len(loud)}, falsely {sum(not one.right for one in controls)} of {len(controls)} "
            f"({', '.join(sorted(str(one.top) for one in loud if not one.right))})"
        )
    if graded:
        print(f"seconds an answer: mean {np.mean([one.seconds for one in graded]):.2f}")


if __name__ == "__main__":
    raise SystemExit(main())

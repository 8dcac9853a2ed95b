"""How often a measured input's interval holds the parameter that made the telemetry, and how wide it is.

200 cases of 10,000 requests each, the ten planners in turn, each with parameters drawn at random.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict

import numpy as np

from benchmarks.planning.cases import BUILDERS
from benchmarks.planning.draws import Case
from benchmarks.report import Row, write
from collector.answers.plan import plan

CASES = 200
_SEED = 20_260_302


def _one(number: int, names: list[str]) -> tuple[str, dict[str, tuple[bool, float]]]:
    """Return the planner and, by input, whether the interval holds the truth and its width over the truth."""
    name = names[number % len(names)]
    case = Case(np.random.default_rng((_SEED, number)), name)
    BUILDERS[name](case)
    inputs = plan(case.store.reader(), None, name, case.settings)["inputs"]
    assert isinstance(inputs, dict)
    found = {}
    for key, truth in case.truth.items():
        row = inputs[key]
        if row["source"] != "measured":
            found[key] = (False, float("nan"))
            continue
        low, high = row["interval"]
        slack = 1e-9 * abs(truth)
        found[key] = (low - slack <= truth <= high + slack, (high - low) / truth)
    return name, found


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--planner", choices=list(BUILDERS), action="append")
    options = parser.parse_args(argv)
    names = options.planner or list(BUILDERS)
    held: dict[str, list[bool]] = defaultdict(list)
    widths: dict[str, list[float]] = defaultdict(list)
    began = time.perf_counter()
    for number in range(options.cases):
        name, found = _one(number, names)
        for key, (inside, width) in found.items():
            held[f"{name}.{key}"].append(inside)
            widths[f"{name}.{key}"].append(width)
    for key, hits in held.items():
        print(f"{key:<52} held {np.mean(hits):6.3f} of {len(hits):3d}   median width {np.nanmedian(widths[key]):.4f}")
    every = [inside for hits in held.values() for inside in hits]
    wide = [width for each in widths.values() for width in each if width > 0]
    write(
        "planners",
        [
            Row("inputs_within_interval", float(np.mean(every)), ""),
            Row("median_relative_width", float(np.nanmedian(wide)), ""),
            Row("p90_relative_width", float(np.nanquantile(wide, 0.9)), ""),
            Row("cases", options.cases, ""),
            Row("intervals", len(every), ""),
            Row("seconds_per_case", (time.perf_counter() - began) / options.cases, "s"),
        ],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

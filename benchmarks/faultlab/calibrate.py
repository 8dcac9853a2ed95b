"""Fits the confidence on development cases of two laboratories and writes analytics/rootcause/calibration.py.

Run `python -m benchmarks.faultlab.calibrate`. One laboratory's cases are full or impoverished, the foreign one's have
gaps of their own: sure is what is right on both. The test seeds of the benchmarks are never seen here.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from analytics.rootcause.confidence import NAMES
from benchmarks.faultlab.cases import CONTROL, DEVELOPMENT_SEEDS, Case, listed, tables
from benchmarks.faultlab.foreign.__main__ import ask
from benchmarks.faultlab.foreign.cases import make
from benchmarks.faultlab.foreign.details import FAULTS
from benchmarks.faultlab.trials import trials
from collector.store.reader import DuckReader

TARGET = Path(__file__).resolve().parents[2] / "analytics" / "rootcause" / "calibration.py"
#: Seeds a fault and severity: with everything recorded, and with part of it taken away.
FULL_SEEDS, POOR_SEEDS = 1, 1
#: Seeds a fault of the foreign laboratory, from the first on.
FOREIGN_SEEDS, FOREIGN_FIRST = 4, 45_000_000


def main() -> None:
    """Fit and write; prints how many cases were used and how often the first cause was right."""
    features, right = [], []
    for poor, first, seeds in ((False, 0, FULL_SEEDS), (True, 50_000, POOR_SEEDS)):
        cases = listed(DEVELOPMENT_SEEDS + first, seeds, 0)
        for outcome in trials(cases, poor=poor):
            if isinstance(outcome, Case) or outcome.case.fault == CONTROL or not outcome.features:
                continue
            features.append(outcome.features)
            right.append(outcome.order[:1] == [outcome.case.fault])
    for vector, good in foreign():
        features.append(vector)
        right.append(good)
    model = LogisticRegression(C=10.0, max_iter=1000).fit(np.array(features), np.array(right))
    print(f"{len(right)} development cases, {np.mean(right):.3f} right")
    lines = "\n".join(f'    "{name}": {value:.6f},' for name, value in zip(NAMES, model.coef_[0], strict=True))
    TARGET.write_text(
        '"""The fitted numbers of the confidence; written by `python -m benchmarks.faultlab.calibrate`, '
        'never by hand."""\n\n'
        f"from __future__ import annotations\n\n#: Logistic regression on {len(right)} injected faults, "
        f"{np.mean(right):.0%} of them named right.\n"
        f"INTERCEPT = {model.intercept_[0]:.6f}\nCOEFFICIENTS = {{\n{lines}\n}}\n",
        encoding="utf-8",
    )


def foreign() -> Iterator[tuple[tuple[float, ...], bool]]:
    """Yield the features of each foreign case that was felt, and whether the first cause was right."""
    connection = tables()
    reader = DuckReader(connection)
    for number, fault in enumerate(FAULTS):
        for seed in range(FOREIGN_SEEDS):
            if fault == CONTROL:
                continue
            case = make(fault, FOREIGN_FIRST + 1000 * number + seed, connection)
            if not case.felt:
                continue
            answer = ask(case, reader)
            causes, vector = answer["causes"], answer.get("features")
            if isinstance(causes, list) and isinstance(vector, list) and causes:
                yield tuple(float(value) for value in vector), causes[0]["cause"] in case.accepted


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()

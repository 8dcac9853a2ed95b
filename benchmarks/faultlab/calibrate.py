"""Fits the confidence on development cases, full and impoverished, and writes analytics/rootcause/calibration.py.

Run `python -m benchmarks.faultlab.calibrate`; the test seeds of `benchmarks.rootcause` are never seen here.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from analytics.rootcause.confidence import NAMES
from benchmarks.faultlab.cases import CONTROL, DEVELOPMENT_SEEDS, Case, listed
from benchmarks.faultlab.trials import trials

TARGET = Path(__file__).resolve().parents[2] / "analytics" / "rootcause" / "calibration.py"
#: Seeds a fault and severity: with everything recorded, and with part of it taken away.
FULL_SEEDS, POOR_SEEDS = 2, 1


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


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()

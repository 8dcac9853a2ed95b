"""The fitted numbers of the confidence; written by `python -m benchmarks.faultlab.calibrate`, never by hand."""

from __future__ import annotations

#: Logistic regression on 146 injected faults, 86% of them named right.
INTERCEPT = -1.670932
COEFFICIENTS = {
    "top": 2.708193,
    "margin": 0.747238,
    "log_z": 0.058609,
    "fit": 0.350136,
    "coverage": 0.566987,
    "change": 0.404778,
    "blind": -0.748543,
}

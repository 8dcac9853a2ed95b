"""The fitted numbers of the confidence; written by `python -m benchmarks.faultlab.calibrate`, never by hand."""

from __future__ import annotations

#: Logistic regression on 222 injected faults, 86% of them named right.
INTERCEPT = -3.197991
COEFFICIENTS = {
    "top": 4.099571,
    "margin": 0.770445,
    "log_z": 0.310502,
    "fit": -0.044643,
    "coverage": 0.557260,
    "change": 0.161415,
    "blind": -0.997319,
}

"""The fitted numbers of the confidence; written by `python -m benchmarks.faultlab.calibrate`, never by hand."""

from __future__ import annotations

INTERCEPT = -3.0
COEFFICIENTS = {
    "top": 3.0,
    "margin": 3.0,
    "log_z": 0.2,
    "fit": 0.5,
    "coverage": 0.5,
    "change": 0.0,
    "blind": -1.0,
}

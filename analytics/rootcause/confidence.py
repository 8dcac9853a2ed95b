"""Turns how the causes rank into a probability that the first is right; fitted on injected faults, not on opinions."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

from analytics.rootcause.calibration import COEFFICIENTS, INTERCEPT


@dataclass(frozen=True, slots=True)
class Features:
    """What confidence is judged by: `top` and `second` scores 0..1, `z` of the change, and how good the data are.

    `coverage` = share of all causes that could be told, `blind` = share of the first one's look-alikes that could not.
    """

    top: float
    second: float
    z: float
    fit: float
    coverage: float
    change: float
    blind: float

    def vector(self) -> tuple[float, ...]:
        """Return the values in the order of COEFFICIENTS."""
        return (
            self.top,
            self.top - self.second,
            min(log(1 + max(self.z, 0.0)), 5.0),
            self.fit,
            self.coverage,
            self.change,
            self.blind,
        )


NAMES = ("top", "margin", "log_z", "fit", "coverage", "change", "blind")


def probability(features: Features) -> float:
    """Return the logistic probability that the cause ranked first is the cause, 0..1."""
    total = INTERCEPT + sum(COEFFICIENTS[name] * value for name, value in zip(NAMES, features.vector(), strict=True))
    return 1.0 / (1.0 + exp(-max(min(total, 30.0), -30.0)))

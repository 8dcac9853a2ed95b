"""The Zipf exponent of adapters' popularity from request counts; never names a tenant.

Maximum likelihood over the ranks. Ranks taken from the counts themselves flatter the top, so what sorting adds is
measured on counts drawn from the fit and taken away (a parametric bootstrap).
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np

from analytics.planners.form import Estimate, PlannerInputs
from analytics.planners.observed.intervals import CONFIDENCE
from analytics.planners.observed.telemetry import Floats, Telemetry, column, texts

__all__ = ["exponent_from_counts", "popularity_exponent"]

#: Draws that measure what sorting adds.
_DRAWS = 12


def popularity_exponent(telemetry: Telemetry, inputs: PlannerInputs) -> Estimate | None:
    """Measure the exponent from requests by adapter; adapters never asked for count as the rest of the owned ones."""
    counts = column(telemetry, "plan_adapters", "requests")
    registered = column(telemetry, "plan_signal_blocks", "value")
    named = np.array([each == "adapters_registered" for each in texts(telemetry, "plan_signal_blocks", "signal")], bool)
    if len(registered) and named.any():
        samples = column(telemetry, "plan_signal_blocks", "samples")[named].sum()
        owned = round(float(registered[named].sum() / samples))
    else:
        owned = int(getattr(inputs, "adapters", len(counts)))
    return exponent_from_counts(counts, max(owned, len(counts)))


def exponent_from_counts(counts: Floats, owned: int) -> Estimate | None:
    """Return the exponent s of shares rank^-s over `owned` adapters, from counts sorted from the largest."""
    requests = float(counts.sum())
    if len(counts) < 5 or requests < 100:
        return None
    logs = np.log(np.arange(1, owned + 1))
    rough = _fit(logs, float(np.sum(counts * logs[: len(counts)])) / requests)
    value = max(0.0, rough - _sorting_drift(logs, rough, requests))
    drift = _sorting_drift(logs, value, requests)
    value = max(0.0, rough - drift)
    error = 1 / sqrt(max(1e-12, requests * _moments(logs, value)[1]))
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * error + abs(drift) / 4
    basis = f"{requests:,.0f} requests for {len(counts):,} adapters"
    return Estimate(value, max(0.0, value - half), value + half, basis)


def _fit(logs: Floats, mean_log: float) -> float:
    """Return the exponent whose mean ln rank is `mean_log`."""
    low, high = 0.0, 6.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _moments(logs, middle)[0] > mean_log else (low, middle)
    return (low + high) / 2


def _moments(logs: Floats, exponent: float) -> tuple[float, float]:
    """Return mean and variance of ln rank under shares rank^-exponent."""
    weights = np.exp(-exponent * logs)
    weights /= weights.sum()
    mean = float(np.sum(weights * logs))
    return mean, float(np.sum(weights * (logs - mean) ** 2))


def _sorting_drift(logs: Floats, exponent: float, requests: float) -> float:
    """Return by how much sorting noisy counts raises the exponent, from counts drawn from its shares."""
    weights = np.exp(-exponent * logs)
    weights /= weights.sum()
    rng = np.random.default_rng(11)
    drawn = np.sort(rng.multinomial(int(requests), weights, size=_DRAWS), axis=1)[:, ::-1]
    return _fit(logs, float(np.mean(drawn @ logs)) / requests) - exponent

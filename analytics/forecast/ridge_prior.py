"""Coefficients that the direct ridge starts from: what the tuning series have in common; never fitted at run time.

Measured by `python -m benchmarks.forecasting.learn_prior` on the tuning series, which include smaller tenants,
each with equal weight. One row a lead; in between, and for features, see `direct_ridge.design`.
"""

from __future__ import annotations

import numpy as np

from analytics.forecast.history import FloatArray, IntArray

#: Days are the profile's difference to 1, 2 and 7 days ago; strayed_* the recent deviation from the profile.
FEATURES = (
    "day_1", "day_2", "day_7", "strayed_step", "strayed_30m", "strayed_1h", "strayed_3h", "strayed_8h", "strayed_24h",
    "flat_24h", "flat_7d", "flat_1h", "strayed_yesterday",
)  # fmt: skip
#: Lead in seconds to coefficients in the order of `FEATURES`.
TABLE: dict[int, tuple[float, ...]] = {
    600: (0.12, -0.08, -0.03, 0.41, 0.15, -0.08, 0.02, 0.17, 0.07, 0.07, -0.07, 0.09, -0.18),
    1800: (0.22, -0.08, 0.02, 0.26, 0.19, 0.07, -0.06, 0.17, 0.08, 0.04, -0.04, 0.10, -0.25),
    3600: (0.26, -0.09, 0.02, 0.22, 0.24, -0.02, -0.03, 0.16, 0.13, 0.05, -0.05, 0.06, -0.30),
    10800: (0.25, -0.12, 0.02, 0.11, -0.06, 0.14, 0.13, 0.10, 0.21, 0.04, -0.03, 0.02, -0.35),
    28800: (0.22, -0.14, 0.01, 0.04, 0.02, 0.03, 0.03, 0.12, 0.25, 0.02, 0.01, -0.01, -0.35),
    57600: (0.24, -0.15, -0.02, 0.06, -0.01, 0.03, 0.01, 0.12, 0.18, -0.01, 0.05, -0.01, -0.38),
    86400: (0.27, -0.14, 0.00, 0.03, 0.02, -0.15, 0.00, 0.10, 0.19, -0.09, 0.11, 0.18, -0.35),
}


def prior_at(lead_seconds: IntArray) -> FloatArray:
    """Return the prior (leads, features), interpolated over the logarithm of the lead."""
    known = np.log(np.array(list(TABLE), dtype=np.float64))
    rows = np.array(list(TABLE.values()))
    wanted = np.log(np.maximum(lead_seconds, 1))
    return np.stack([np.interp(wanted, known, rows[:, place]) for place in range(rows.shape[1])], axis=1)

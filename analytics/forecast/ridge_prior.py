"""Coefficients that the direct ridge starts from: what the tuning series have in common; never fitted at run time.

Measured by `python -m benchmarks.forecasting.learn_prior` on the tuning half of the series and smaller tenants,
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
    600: (0.09, -0.04, 0.00, 0.39, 0.26, 0.12, -0.06, 0.20, 0.09, 0.06, -0.06, -0.14, -0.14),
    1800: (0.22, -0.06, 0.03, 0.41, 0.06, 0.04, -0.06, 0.20, 0.09, 0.01, -0.01, 0.12, -0.22),
    3600: (0.25, -0.07, 0.03, 0.33, 0.19, -0.10, -0.01, 0.17, 0.16, 0.01, -0.01, 0.08, -0.27),
    10800: (0.28, -0.10, 0.04, 0.16, -0.07, 0.11, 0.10, 0.10, 0.29, -0.03, 0.03, 0.04, -0.34),
    28800: (0.25, -0.13, 0.02, 0.09, -0.01, -0.01, 0.00, 0.14, 0.39, -0.10, 0.11, 0.02, -0.36),
    57600: (0.26, -0.15, -0.02, 0.10, -0.01, 0.02, 0.01, 0.13, 0.29, -0.14, 0.21, -0.03, -0.38),
    86400: (0.18, -0.15, -0.03, 0.06, 0.04, -0.23, -0.02, 0.16, 0.27, -0.23, 0.25, 0.23, -0.29),
}


def prior_at(lead_seconds: IntArray) -> FloatArray:
    """Return the prior (leads, features), interpolated over the logarithm of the lead."""
    known = np.log(np.array(list(TABLE), dtype=np.float64))
    rows = np.array(list(TABLE.values()))
    wanted = np.log(np.maximum(lead_seconds, 1))
    return np.stack([np.interp(wanted, known, rows[:, place]) for place in range(rows.shape[1])], axis=1)

"""Learns, from tuning series and smaller tenants, what a series without a past starts from; prints tables to paste.

`python -m benchmarks.forecasting.learn_prior` prints `ridge_prior.TABLE` (pooled ridge coefficients, each series with
equal weight) and `bands.PRIOR` (quantiles of what forecasts from half a day of history missed by).
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from analytics.forecast import default
from analytics.forecast.bands import LEVELS, width
from analytics.forecast.direct_ridge import design
from analytics.forecast.history import FloatArray, regular
from analytics.forecast.member import targets
from analytics.forecast.ridge_prior import FEATURES, TABLE
from benchmarks.forecasting.series import Series, halves

#: Days before the first row that teaches: the features look back a week.
LEARN_DAYS = 7
#: Share of the mean square of the features that is added to each, to keep the pooled solution calm.
RIDGE = 0.01
#: A series is cut to so many hours for the cold start, at so many places.
COLD_HOURS, COLD_STARTS = 12, 12
COLD_LEADS = (600, 3_600, 86_400)


def main() -> int:
    """Print both tables."""
    series = halves()[0]
    print("TABLE = {")
    for lead in TABLE:
        row = pooled(series, lead)
        print(f"    {lead}: ({', '.join(f'{value:.2f}' for value in row)}),")
    print("}\nPRIOR = {")
    for lead, row in cold_start(series).items():
        print(f"    {lead}: ({', '.join(f'{value:.2f}' for value in row)}),")
    print("}")
    return 0


def pooled(series: tuple[Series, ...], lead_seconds: int) -> FloatArray:
    """Return the coefficients at one lead; a series counts by the inverse of how far it strays from its profile."""
    count = len(FEATURES)
    gram, moment = np.zeros((count, count)), np.zeros(count)
    for one in series:
        if one.step_seconds > lead_seconds:
            continue
        history = regular(one.times, one.values, one.step_seconds)
        every = history.steps(1800)
        origins = np.arange(LEARN_DAYS * history.day, len(history), every, dtype=np.int64)
        leads = np.array([history.steps(lead_seconds)], dtype=np.int64)
        base, features = design(history, origins, leads)
        wanted = (np.sqrt(history.at(targets(origins, leads))) - base)[:, 0]
        known = np.isfinite(wanted)
        rows, wanted = features[known, 0], wanted[known]
        power = float(np.square(wanted).sum())
        if power > 0:
            gram += rows.T @ rows / power
            moment += rows.T @ wanted / power
    return np.linalg.solve(gram + RIDGE * np.trace(gram) / count * np.eye(count), moment)


def cold_start(series: tuple[Series, ...]) -> dict[int, FloatArray]:
    """Return, by lead, the quantiles of (came - said) in band units: of each series, then their outer quartile."""
    found: dict[int, list[FloatArray]] = {lead: [] for lead in COLD_LEADS}
    for one in series:
        hours = COLD_HOURS * 3600 // one.step_seconds
        missed: dict[int, list[float]] = {lead: [] for lead in COLD_LEADS}
        for begin in np.linspace(0, len(one.values) - hours - one.day - 1, COLD_STARTS).astype(int):
            part = slice(begin, begin + hours)
            if not np.isfinite(one.values[part]).any():
                continue
            said = default(one.step_seconds).fit(one.times[part], one.values[part]).predict(one.day, (0.5,))[:, 0]
            unit = width(said, regular(one.times[part], one.values[part], one.step_seconds))
            miss = (one.values[begin + hours : begin + hours + one.day] - said) / np.maximum(unit, 1e-12)
            for lead in COLD_LEADS:
                near, far = max(1, round(0.6 * lead / one.step_seconds)), max(1, round(lead / one.step_seconds))
                missed[lead] += [float(value) for value in miss[near - 1 : far] if np.isfinite(value)]
        for lead, values in missed.items():
            if values and one.step_seconds <= lead:
                found[lead].append(np.quantile(values, LEVELS))
    # Wide enough for three series of four: a stranger's burst costs more than a spare instance.
    outward = np.where(LEVELS < 0.5, 0.25, np.where(LEVELS > 0.5, 0.75, 0.5))
    return {
        lead: np.array([np.quantile(np.stack(rows)[:, q], share) for q, share in enumerate(outward)])
        for lead, rows in found.items()
    }


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    sys.exit(main())

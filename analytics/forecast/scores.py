"""How a forecaster did on its own past days, with bands that it could have known then; never on what it learnt from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.bands import LEVELS, WINDOW_DAYS, Nudge, calibrate
from analytics.forecast.calibration import Calibration
from analytics.forecast.history import FloatArray, History

#: The quantiles that are always stated.
QUANTILES = (0.1, 0.5, 0.9, 0.99)
NINETY, TAIL = QUANTILES.index(0.9), QUANTILES.index(0.99)
NAMES = tuple(f"q{round(100 * quantile)}" for quantile in QUANTILES)
#: Days of history before the first origin that is scored.
LEARNT_AFTER_DAYS = 2
#: Adaptive conformal inference (Gibbs, Candes, 2021, arXiv:2106.00170), once a day: the .9 quantile moves by PACE times
#: what yesterday's coverage lacked, at most by LIMIT. Of 0 to .2 the fastest held .9 best on the tuning series.
PACE, LIMIT = 0.2, 0.06
#: The same for .99: what holds every day for a fortnight is wider than its name; it may go down to .96, and not up.
TAIL_PACE, TAIL_LOWEST = 0.2, -0.03


@dataclass(frozen=True, slots=True)
class Scores:
    """From one hour to one day ahead over the past fortnight; None where the history is too short to tell.

    `mase` is the mean absolute error over the in-sample error of naive day; `skill` is 1 - error / error of naive day
    at the same origins; `pinball` is by quantile over mean demand; `coverage` is the share of values at or below it.
    """

    mase: float | None
    skill: float | None
    pinball: dict[str, float | None]
    coverage: dict[str, float | None]
    origins: int

    @staticmethod
    def unknown() -> Scores:
        """Return the scores of a forecaster that has no past."""
        return Scores(None, None, dict.fromkeys(NAMES), dict.fromkeys(NAMES), 0)


def score(
    past: FloatArray,
    naive: FloatArray,
    unit: FloatArray,
    residual: FloatArray,
    calibration: Calibration,
    history: History,
) -> tuple[Scores, Nudge]:
    """Score `past` (origins, leads); `naive` is naive day at the same places; `unit` and `residual` as in bands.

    Also return the nudge that the bands need today, see `Bands.nudged`.
    """
    day = history.day
    far = np.flatnonzero(calibration.leads * history.step_seconds > 3600)[::2]  # every other lead tells as much
    first = max(0, len(history) - WINDOW_DAYS * day, LEARNT_AFTER_DAYS * day)
    misses, errors, naive_errors, told, nudge = [], [], [], 0, Nudge()
    for begin in range(first, len(history), day):
        rows = (calibration.origins >= begin) & (calibration.origins < begin + day)
        actual, point = calibration.actual[rows][:, far], past[rows][:, far]
        known = np.isfinite(actual) & np.isfinite(point)
        if not known.any():
            continue
        offsets = calibrate(residual, calibration, history, begin, far).nudged(nudge).offsets
        columns = [np.interp(QUANTILES, LEVELS, row) for row in offsets]
        said = point[..., None] + np.stack(columns)[None] * unit[rows][:, far][..., None]
        missed = (actual[..., None] - np.maximum(said, 0.0))[known]
        lacks = np.array(QUANTILES) - (missed <= 0).mean(axis=0)
        nudge = Nudge(
            float(np.clip(nudge.upper + PACE * lacks[NINETY], -LIMIT, LIMIT)),
            float(np.clip(nudge.tail + TAIL_PACE * lacks[TAIL], TAIL_LOWEST, 0.0)),
        )
        misses.append(missed)
        errors.append(np.abs(actual - point)[known])
        naive_errors.append(np.abs(actual - naive[rows][:, far])[known])
        told += int(known.any(axis=1).sum())
    mean = float(np.nanmean(history.values)) if np.isfinite(history.values).any() else 0.0
    if not misses or mean <= 0:
        return Scores.unknown(), Nudge()
    return _summed(np.concatenate(misses), np.concatenate(errors), np.concatenate(naive_errors), history, told), nudge


def _summed(misses: FloatArray, errors: FloatArray, naive_errors: FloatArray, history: History, told: int) -> Scores:
    mean = float(np.nanmean(history.values))
    quantiles = np.array(QUANTILES)
    pinball = np.maximum(quantiles * misses, (quantiles - 1) * misses).mean(axis=0) / mean
    coverage = (misses <= 0).mean(axis=0)
    day = history.day
    in_sample = np.abs(history.values[day:] - history.values[:-day])
    scale = float(np.nanmean(in_sample)) if np.isfinite(in_sample).any() else 0.0
    both = np.isfinite(naive_errors)
    naive = float(naive_errors[both].mean()) if both.any() else 0.0
    return Scores(
        float(errors.mean() / scale) if scale > 0 else None,
        float(1 - errors[both].mean() / naive) if naive > 0 else None,
        {name: float(value) for name, value in zip(NAMES, pinball, strict=True)},
        {name: float(value) for name, value in zip(NAMES, coverage, strict=True)},
        told,
    )

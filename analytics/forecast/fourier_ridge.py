"""A smooth curve over the day and the week, plus what is left of the recent deviation from it; in square roots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.calibration import Calibration, across_leads
from analytics.forecast.history import FloatArray, History, IntArray
from analytics.forecast.member import targets
from analytics.forecast.profile import from_root
from analytics.forecast.windows import nearest_mean

#: Harmonics of the day and of the week.
DAILY, WEEKLY = 8, 3
#: Pull of every harmonic towards zero, in rows of data; the constant is free.
STRENGTH = 20.0
#: The deviation that is carried on is the mean over this time.
RECENT_SECONDS = 1_800
#: The curve is learnt anew at this distance, from all that came before.
BLOCK_SECONDS = 43_200


@dataclass(frozen=True, slots=True)
class FourierRidge:
    """Ridge regression on harmonics; autoregression of the residual, one coefficient a lead."""

    name: str = "fourier_ridge"

    def fit(self, history: History, calibration: Calibration) -> FittedFourier:
        """Learn the curve at the start of every block and at the end; the carry-over from the blocks before."""
        leads, origins = calibration.leads, calibration.origins
        roots = np.sqrt(history.values)
        waves = harmonics(history, np.arange(len(history), dtype=np.int64))
        width = history.steps(BLOCK_SECONDS)
        gram, moment = _sums(waves, roots, width)
        past = np.full((len(origins), len(leads)), np.nan)
        strayed: FloatArray = np.full_like(past, np.nan)
        recent: FloatArray = np.full(len(origins), np.nan)
        carried: FloatArray = np.zeros(len(leads))
        for block in np.split(np.arange(len(origins)), np.flatnonzero(np.diff(origins // width)) + 1):
            if len(block) == 0:
                continue
            begin = int(origins[block[0]])
            curve = _solve(gram[begin // width], moment[begin // width])
            carried = _carried(recent, strayed, leads, origins, begin)
            recent[block] = _recent(history, roots - waves @ curve, origins[block])
            base = harmonics(history, targets(origins[block], leads)) @ curve
            past[block] = from_root(base + recent[block, None] * carried)
            strayed[block] = np.sqrt(calibration.actual[block]) - base
        if len(origins):
            carried = _carried(recent, strayed, leads, origins, len(history))
        return FittedFourier(leads, _solve(gram[-1], moment[-1]), carried, past)


@dataclass(frozen=True, slots=True)
class FittedFourier:
    """Coefficients of the harmonics, the carry-over (leads,), and past forecasts."""

    leads: IntArray
    curve: FloatArray
    carried: FloatArray
    past: FloatArray

    def ahead(self, history: History, steps: int) -> FloatArray:
        """Return the curve after the end of `history`, moved by what is left of the recent deviation."""
        size = len(history)
        if size == 0:
            return np.full(steps, np.nan)
        strayed = np.sqrt(history.values) - harmonics(history, np.arange(size, dtype=np.int64)) @ self.curve
        recent = _recent(history, strayed, np.array([size], dtype=np.int64))[0]
        base = harmonics(history, np.arange(size, size + steps, dtype=np.int64)) @ self.curve
        return from_root(base + recent * across_leads(self.carried[:, None], self.leads, steps)[:, 0])


def harmonics(history: History, index: IntArray) -> FloatArray:
    """Return (..., 1 + 2 DAILY + 2 WEEKLY) waves in local time at `index`."""
    start = int(history.start.astype("datetime64[s]").astype(np.int64)) // history.step_seconds
    local = index + start + history.shift[np.clip(index, 0, len(history.shift) - 1)]
    turns = 2 * np.pi * (local / history.day)
    angles = [turns * wave for wave in range(1, DAILY + 1)] + [turns * wave / 7 for wave in range(1, WEEKLY + 1)]
    waves: FloatArray = np.stack(
        [np.ones(index.shape), *(np.cos(a) for a in angles), *(np.sin(a) for a in angles)], axis=-1
    )
    return waves


def _sums(waves: FloatArray, roots: FloatArray, width: int) -> tuple[FloatArray, FloatArray]:
    """Return the summed Gram matrices and moments of all that came before each block, and at last of everything."""
    count = waves.shape[1]
    known = np.isfinite(roots)
    blocks = -(-len(roots) // width)
    gram, moment = np.zeros((blocks + 1, count, count)), np.zeros((blocks + 1, count))
    for block in range(blocks):
        part = slice(block * width, (block + 1) * width)
        here, value = waves[part][known[part]], roots[part][known[part]]
        gram[block + 1], moment[block + 1] = here.T @ here, here.T @ value
    return gram.cumsum(axis=0), moment.cumsum(axis=0)


def _solve(gram: FloatArray, moment: FloatArray) -> FloatArray:
    pull: FloatArray = np.full(len(moment), STRENGTH)
    pull[0] = 1e-6
    solved: FloatArray = np.asarray(np.linalg.solve(gram + np.diag(pull), moment), dtype=np.float64)
    return solved


def _recent(history: History, strayed: FloatArray, origins: IntArray) -> FloatArray:
    return np.nan_to_num(nearest_mean(strayed, origins, history.steps(RECENT_SECONDS)))


def _carried(recent: FloatArray, strayed: FloatArray, leads: IntArray, origins: IntArray, now: int) -> FloatArray:
    """Return by how much of the recent deviation demand strayed at each lead, from forecasts that had come true."""
    told = np.isfinite(strayed) & np.isfinite(recent)[:, None] & (origins[:, None] + leads[None, :] <= now)
    moved = np.where(told, recent[:, None], 0.0)
    power = np.square(moved).sum(axis=0)
    together = (moved * np.where(told, strayed, 0.0)).sum(axis=0)
    # Half a deviation is carried on until the series says otherwise (as if it had been seen to, for a few rows).
    typical = power / np.maximum(told.sum(axis=0), 1)
    carried: FloatArray = np.clip((together + 5.0 * typical) / np.maximum(power + 10.0 * typical, 1e-12), 0.0, 1.0)
    return carried


FOURIER_RIDGE = FourierRidge()

"""One linear model per lead: how far demand will be from its profile; shrinks towards what tuning series taught."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.forecast.calibration import Calibration, across_leads
from analytics.forecast.history import FloatArray, History, IntArray
from analytics.forecast.member import targets
from analytics.forecast.profile import MIXED, from_root, lookback, roots_of
from analytics.forecast.ridge_prior import FEATURES, prior_at
from analytics.forecast.windows import nearest_mean, trailing_mean

#: Windows of the recent deviation from the profile, in seconds; the first is one step.
DEVIATION_SECONDS = (1, 1800, 3600, 10_800, 28_800, 86_400)
#: The past is cut into blocks; the paths of one block use what was known when it began.
BLOCK_SECONDS = 21_600


@dataclass(frozen=True, slots=True)
class DirectRidge:
    """`strength` is how many rows of data the prior is worth one hour ahead; it grows as the root of the lead."""

    name: str
    strength: float

    def fit(self, history: History, calibration: Calibration) -> FittedRidge:
        """Learn coefficients (leads, features) at the end of the history and at the start of every block."""
        leads, origins = calibration.leads, calibration.origins
        prior = prior_at(leads * history.step_seconds)
        if len(origins) == 0:
            return FittedRidge(leads, prior, np.empty((0, len(leads))))
        base, features = design(history, origins, leads)
        wanted = np.sqrt(calibration.actual) - base
        known = np.isfinite(wanted)
        width = max(1, history.steps(BLOCK_SECONDS) // calibration.spacing)
        blocks = -(-len(origins) // width)
        gram, moment, rows = _sums(features, np.where(known, wanted, 0.0), known, width, blocks)
        past = np.full(base.shape, np.nan)
        coefficients = prior
        for block in range(blocks + 1):
            begin = block * width
            moment_of = origins[begin] if begin < len(origins) else len(history)
            # Only blocks whose forecasts at this lead have all come true by then may teach.
            complete = np.searchsorted(origins, moment_of - leads, side="right") // width
            coefficients = _solve(gram, moment, rows, complete, prior, self._pull(leads * history.step_seconds))
            now = slice(begin, begin + width)
            past[now] = from_root(base[now] + np.einsum("olk,lk->ol", features[now], coefficients))
        return FittedRidge(leads, coefficients, past)

    def _pull(self, lead_seconds: IntArray) -> FloatArray:
        pull: FloatArray = self.strength * np.sqrt(lead_seconds / 3600)
        return pull


@dataclass(frozen=True, slots=True)
class FittedRidge:
    """Coefficients (leads, features) and past forecasts."""

    leads: IntArray
    coefficients: FloatArray
    past: FloatArray

    def ahead(self, history: History, steps: int) -> FloatArray:
        """Return the path after the end of `history`; beyond a day the coefficients of a day ahead hold."""
        end = np.array([len(history)], dtype=np.int64)
        base, features = design(history, end, np.arange(1, steps + 1, dtype=np.int64))
        dense = across_leads(self.coefficients, self.leads, steps)
        return from_root(base[0] + np.einsum("lk,lk->l", features[0], dense))


def design(history: History, origins: IntArray, leads: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the profile (origins, leads) and the features (origins, leads, k) of `FEATURES`, all in square roots.

    A feature that is not known is 0: "as the profile says".
    """
    roots = roots_of(history)
    wanted = targets(origins, leads)
    lead = leads[None, :]
    flat = [trailing_mean(roots.plain, origins, history.steps(seconds))[:, None] for seconds in (86_400, 604_800, 3600)]
    base = MIXED.at(roots, wanted, lead)
    base = np.where(np.isnan(base), flat[0], base)
    every = np.arange(len(history), dtype=np.int64)
    strayed = roots.plain - MIXED.at(roots, every, np.ones(1, dtype=np.int64))
    recent = [nearest_mean(strayed, origins, history.steps(seconds))[:, None] for seconds in DEVIATION_SECONDS]
    yesterday = lookback(history, strayed).days_before(wanted, lead, 1)
    days = [roots.days_before(wanted, lead, days) - base for days in (1, 2, 7)]
    columns = [*days, *recent, *(level - base for level in flat), yesterday]
    features = np.stack([np.broadcast_to(column, wanted.shape) for column in columns], axis=-1)
    return base, np.where(np.isfinite(features), features, 0.0)


def _sums(
    features: FloatArray, wanted: FloatArray, known: FloatArray, width: int, blocks: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return, before each block, the summed Gram matrices (blocks + 1, leads, k, k), moments and row counts."""
    leads, count = features.shape[1:]
    gram = np.zeros((blocks + 1, leads, count, count))
    moment = np.zeros((blocks + 1, leads, count))
    rows = np.zeros((blocks + 1, leads))
    for block in range(blocks):
        part = slice(block * width, (block + 1) * width)
        here = np.where(known[part, :, None], features[part], 0.0).transpose(1, 2, 0)
        gram[block + 1] = here @ here.transpose(0, 2, 1)
        moment[block + 1] = np.einsum("lko,ol->lk", here, wanted[part])
        rows[block + 1] = known[part].sum(axis=0)
    return gram.cumsum(axis=0), moment.cumsum(axis=0), rows.cumsum(axis=0)


def _solve(
    gram: FloatArray, moment: FloatArray, rows: FloatArray, complete: IntArray, prior: FloatArray, pull: FloatArray
) -> FloatArray:
    """Return ridge coefficients (leads, k) towards `prior` from the first `complete` blocks of each lead."""
    place = np.arange(len(complete))
    matrix, vector, seen = gram[complete, place], moment[complete, place], rows[complete, place]
    spread = np.einsum("lkk->lk", matrix) / np.maximum(seen, 1)[:, None]
    floor = 0.01 * spread.mean(axis=1, keepdims=True)
    weight = pull[:, None] * np.maximum(spread, np.maximum(floor, 1e-12))
    solved: FloatArray = np.linalg.solve(
        matrix + weight[:, :, None] * np.eye(len(FEATURES)), (vector + weight * prior)[:, :, None]
    )[:, :, 0]
    return solved


RIDGE_FREE = DirectRidge("ridge_free", 30.0)
RIDGE_TIED = DirectRidge("ridge_tied", 1_000.0)

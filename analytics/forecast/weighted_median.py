"""The middle of weighted values, by members or by past days; never a mean, which one wild value would take along."""

from __future__ import annotations

import numpy as np

from analytics.forecast.history import FloatArray

#: Half the share of the weight that makes the middle.
MIDDLE = 0.1


def weighted_median(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mean of the roots of the middle fifth of the weight, squared, over the last axis; NaN has no weight.

    A little wider than a plain median, so that the blend does not jump from member to member.
    """
    weights = np.where(np.isfinite(values), weights, 0.0)
    lonely = weights.sum(axis=-1, keepdims=True) <= 0
    weights = np.where(lonely, np.isfinite(values), weights)
    order = np.argsort(np.where(np.isfinite(values), values, np.inf), axis=-1)
    ranked = np.take_along_axis(values, order, axis=-1)
    upper = np.take_along_axis(weights, order, axis=-1).cumsum(axis=-1)
    total = upper[..., -1:]
    upper = upper / np.maximum(total, 1e-300)
    lower = np.concatenate([np.zeros_like(upper[..., :1]), upper[..., :-1]], axis=-1)
    inside = np.maximum(np.minimum(upper, 0.5 + MIDDLE) - np.maximum(lower, 0.5 - MIDDLE), 0.0)
    root = (np.sqrt(np.where(inside > 0, ranked, 0.0)) * inside).sum(axis=-1) / (2 * MIDDLE)
    return np.where(total[..., 0] > 0, np.square(root), np.nan)

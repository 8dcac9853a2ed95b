"""Means over windows of a series with gaps: trailing, centred, weighted; a gap never counts as zero."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analytics.forecast.history import FloatArray, IntArray


def trailing_mean(values: FloatArray, origins: IntArray, window: int) -> FloatArray:
    """Return the mean of the known values in the `window` steps before each origin, NaN where none is known."""
    known = np.isfinite(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(known)])
    high = np.clip(origins, 0, len(values))
    low = np.clip(origins - window, 0, len(values))
    seen = counts[high] - counts[low]
    mean: FloatArray = np.divide(sums[high] - sums[low], seen, out=np.full(len(origins), np.nan), where=seen > 0)
    return mean


def nearest_mean(values: FloatArray, origins: IntArray, window: int) -> FloatArray:
    """Return `trailing_mean`, from a window four times as long (and so on) where nothing is known in it."""
    mean = trailing_mean(values, origins, window)
    while np.isnan(mean).any() and window < len(values):
        window *= 4
        mean = np.where(np.isnan(mean), trailing_mean(values, origins, window), mean)
    return mean


def centred_mean(values: FloatArray, half: int) -> FloatArray:
    """Return the mean of the known values within `half` steps of each step."""
    if half < 1 or len(values) == 0:
        return values
    places = np.arange(len(values), dtype=np.int64)
    return trailing_mean(values, np.minimum(places + half + 1, len(values)), 2 * half + 1)


def weighted_mean(weights: Sequence[float], arrays: Sequence[FloatArray]) -> FloatArray:
    """Return the weighted mean of the arrays, each cell over those that know it."""
    total = np.zeros(arrays[0].shape)
    mass = np.zeros(arrays[0].shape)
    for weight, array in zip(weights, arrays, strict=True):
        known = np.isfinite(array)
        total += weight * np.where(known, array, 0.0)
        mass += weight * known
    mean: FloatArray = np.divide(total, mass, out=np.full(total.shape, np.nan), where=mass > 0)
    return mean


def median_of(arrays: FloatArray) -> FloatArray:
    """Return the median over the first axis of what is known, NaN where nothing is."""
    ranked = np.sort(arrays, axis=0)  # NaN last
    count = np.isfinite(arrays).sum(axis=0)
    low, high = np.maximum(count - 1, 0) // 2, count // 2
    high = np.minimum(high, np.maximum(count - 1, 0))
    pair = [np.take_along_axis(ranked, place[None], axis=0)[0] for place in (low, high)]
    middle: FloatArray = np.where(count > 0, (pair[0] + pair[1]) / 2, np.nan)
    return middle

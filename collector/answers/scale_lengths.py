"""Corrects a pool's capacity for the lengths that its requests will have at the horizon; learns no capacity itself."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil

import numpy as np
import numpy.typing as npt

from analytics.scaling import PoolState
from analytics.scaling.mix import Bucket, mix_of, trend, worth
from collector.store.reader import Reader

Floats = npt.NDArray[np.float64]
#: The windows that capacity is expressed in requests of (see scale_windows): so many of one instance each, and steps of
#: the pool at least.
WINDOWS, STEPS = 60, 3
#: The mix at the horizon lies on a line through so much of the past: long against the cold start, short against a day.
TREND_SECONDS, TREND_LEADS = 1200.0, 4.0
#: Requests of this time say what a bucket costs.
REACH = timedelta(hours=3)


def with_length_mix(
    reader: Reader, state: PoolState, now: datetime, since: datetime, step_seconds: float, instances: AbstractSet[str]
) -> PoolState:
    """Return the state with its capacity at the horizon's mix of lengths; `instances` are those that served the pool.

    A prior stays as it is: it was learned at no mix.
    """
    if state.capacity.origin.startswith("prior") or not instances:
        return state
    rows = reader.columns(
        "scale_lengths", since=max(since, now - REACH), now=now, step_seconds=step_seconds, model=state.pool.model
    )
    mine = np.array([name in instances for name in rows["instance"].tolist()], dtype=bool)
    if not mine.any():
        return replace(state, capacity=state.capacity.at(mix_of(())))
    figures = {name: _floats(rows[name][mine]) for name in
               ("requests", "told", "input_tokens", "cached_tokens", "cached_told", "output_tokens")}  # fmt: skip
    names = rows["length_bucket"][mine].astype(str)
    places, count = _places(rows["step"][mine], now, step_seconds)
    recent = max(STEPS, WINDOWS // max(len(instances), 1))
    lead = state.cold_start.p95 / step_seconds
    reach = min(count - 1, ceil(max(TREND_SECONDS / step_seconds, TREND_LEADS * lead)))
    if reach < STEPS:
        return state
    buckets, told = [], 0.0
    for name in sorted(set(names.tolist())):
        chosen = names == name
        # The step that `now` falls into is open.
        series = np.bincount(places[chosen], figures["requests"][chosen], minlength=count)[:-1].astype(np.float64)
        told += float(series[-reach:].sum())
        total = {key: float(values[chosen].sum()) for key, values in figures.items()}
        buckets.append(
            Bucket(
                name=name,
                requests=int(total["told"]),
                computed_tokens=_computed(total),
                output_tokens=total["output_tokens"] / total["told"] if total["told"] else np.nan,
                learned_share=float(series[-recent:].mean()),
                horizon_share=trend(series[-reach:], lead),
            )
        )
    return replace(state, capacity=state.capacity.at(mix_of(_normal(buckets), worth(told, reach, lead))))


def _places(steps: npt.NDArray[np.generic], now: datetime, step_seconds: float) -> tuple[npt.NDArray[np.int64], int]:
    """Return each row's place on a grid of steps that ends with the one that `now` falls into, and their number."""
    width = step_seconds * 1e6
    stamps = steps.astype("datetime64[us]").astype(np.int64)
    first = int(stamps.min())
    last = int((now.timestamp() * 1e6 - first) // width)
    return np.minimum(((stamps - first) // width).astype(np.int64), last), last + 1


def _computed(total: dict[str, float]) -> float:
    """Return prompt tokens per request that were computed: less the cached ones where all requests tell them."""
    known = total["cached_told"] >= total["requests"] > 0
    cached = total["cached_tokens"] if known else 0.0
    return (total["input_tokens"] - cached) / total["requests"] if total["requests"] else np.nan


def _normal(buckets: list[Bucket]) -> list[Bucket]:
    learned = sum(one.learned_share for one in buckets) or np.nan
    later = sum(one.horizon_share for one in buckets) or np.nan
    return [
        replace(one, learned_share=one.learned_share / learned, horizon_share=one.horizon_share / later)
        for one in buckets
    ]


def _floats(values: npt.NDArray[np.generic]) -> Floats:
    """Return the numbers, a sum over nothing known being nothing."""
    return np.nan_to_num(values.astype(np.float64))

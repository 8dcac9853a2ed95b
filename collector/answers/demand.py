"""What demand was, step by step, per model and tenant: by arrival, gaps kept apart from idleness; never a forecast."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from analytics.forecast.history import MAX_DAYS, FloatArray, TimeArray, checked_step
from collector.store.reader import Columns, Reader
from signals.errors import UnknownNameError

__all__ = ["SIGNALS", "Demand", "Leaf", "demand", "demand_of"]

#: Signal to its column in requests and to the engine's counter that stands in where no request was recorded.
SIGNALS: dict[str, tuple[str, str]] = {
    "requests": ("requests", "first_tokens"),
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "cached_tokens": ("cached_tokens", "prefix_hit_tokens"),
    "output_tokens": ("output_tokens", "generation_tokens"),
}
#: An unfinished step of this age counts while there are fewer full ones than `FEW`, and at any age when it is all.
WATCHED_SECONDS, FEW = 60.0, 3
#: No step is rated over less than this.
LEAST_SECONDS = 1.0

Mask: TypeAlias = npt.NDArray[np.bool_]
#: Tenant and length bucket; None where a request did not say.
Leaf = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Demand:
    """Rates per second of the steps that start at `times`: of the whole, and of each leaf; NaN = nothing watched.

    Leaves sum to the whole except where only an engine counter knows of demand.
    """

    times: TimeArray
    whole: FloatArray
    leaves: dict[Leaf, FloatArray]

    def knows(self, tenant: str) -> bool:
        """Return whether the tenant sent any request."""
        return any(name == tenant for name, _ in self.leaves)

    def of_tenant(self, tenant: str | None) -> FloatArray:
        """Return the rates of one tenant, of the whole for None; watched and silent is 0."""
        if tenant is None:
            return self.whole
        own = [values for (name, _), values in self.leaves.items() if name == tenant]
        return np.sum(own, axis=0) if own else np.where(np.isfinite(self.whole), 0.0, np.nan)


def demand(
    reader: Reader,
    now: datetime,
    *,
    model: str,
    tenant: str | None = None,
    signal: str = "requests",
    step_seconds: int = 600,
) -> tuple[TimeArray, FloatArray]:
    """Return (starts of steps, rate per second) of the past `MAX_DAYS`, see `demand_of`; a tenant must be known."""
    found = demand_of(reader, now, model=model, signal=signal, step_seconds=step_seconds)
    if tenant is not None and not found.knows(tenant):
        check_tenant(reader, tenant)
    return found.times, found.of_tenant(tenant)


def demand_of(
    reader: Reader, now: datetime, *, model: str, signal: str = "requests", step_seconds: int = 600
) -> Demand:
    """Return the demand of one model over the past `MAX_DAYS`.

    A step that was watched and had no request is 0. The step that `now` falls into counts only while there are few
    full ones; the first and that one are rated over the seconds that they were watched.
    """
    checked_step(step_seconds)
    if signal not in SIGNALS:
        raise UnknownNameError("signal", signal, SIGNALS)
    window: dict[str, object] = {
        "model": model,
        "start": now - timedelta(days=MAX_DAYS),
        "until": now,
        "step_seconds": step_seconds,
    }
    watched = reader.columns("forecast_watched", **window)
    began = watched["first_second"].astype(np.float64)
    if not np.isfinite(began).any():
        _check_model(reader, model)
        return Demand(np.empty(0, dtype="datetime64[s]"), np.empty(0), {})
    first_second = float(np.nanmin(began))
    low, high = int(first_second) // step_seconds, int(now.timestamp()) // step_seconds
    size = high - low + 1
    seconds = np.full(size, float(step_seconds))
    seconds[0] -= first_second - low * step_seconds
    seconds[-1] -= (high + 1) * step_seconds - now.timestamp()
    seconds = np.maximum(seconds, LEAST_SECONDS)
    leaves, told = _leaves(reader.columns("forecast_requests", **window), SIGNALS[signal][0], low, size)
    whole, alive = _watched(watched, SIGNALS[signal][1], low, told)
    recorded = np.nansum(list(leaves.values()), axis=0) if leaves else np.zeros(size)
    whole = np.where(recorded > 0, recorded, whole) / seconds
    full = np.isfinite(whole[:-1]) & (seconds[:-1] >= step_seconds)
    young = full.sum() < FEW and seconds[-1] >= min(WATCHED_SECONDS, step_seconds)
    kept = slice(0, size) if young or not np.isfinite(whole[:-1]).any() else slice(0, size - 1)
    begin = int(np.argmax(np.isfinite(whole[kept])))
    kept = slice(begin, kept.stop)
    times = ((low + np.arange(size)) * step_seconds).astype("datetime64[s]")
    shares = {leaf: np.where(alive, values / seconds, np.nan)[kept] for leaf, values in leaves.items()}
    return Demand(times[kept], whole[kept], shares)


def _watched(watched: Columns, counter: str, low: int, told: Mask) -> tuple[FloatArray, Mask]:
    """Return what the engines counted per step (0 where watched, NaN elsewhere), and which steps were watched.

    Where no engine is scraped at all, requests of any model show that the collector was there. Scrapes of engines that
    never count the signal show nothing, nor do requests that do not tell it (`told` are the steps of those that do).
    """
    size = len(told)
    place = watched["step"].astype(np.int64) - low
    kept = (place >= 0) & (place < size)
    place = place[kept]
    scrapes, requests, of_any = (
        watched[name][kept].astype(np.float64) for name in ("scrapes", "requests", "requests_of_any")
    )
    counted = watched[counter].astype(np.float64)
    counts = told.any() or np.isfinite(counted).any()
    counted = counted[kept]
    silent = (requests > 0) & ~told[place]
    alive = np.zeros(size, dtype=np.bool_)
    alive[place] = ((scrapes > 0) & counts) | (requests > 0) | ((of_any > 0) & (not (scrapes > 0).any()))
    totals: FloatArray = np.where(alive, 0.0, np.nan)
    totals[place] = np.where(~told[place] & (counted > 0), counted, totals[place])
    totals[place] = np.where(silent & ~np.isfinite(counted), np.nan, totals[place])
    return totals, alive


def _leaves(rows: Columns, column: str, low: int, size: int) -> tuple[dict[Leaf, FloatArray], Mask]:
    """Return each leaf's sum per step, NaN where its requests do not tell the signal; and the steps that any tells."""
    found: dict[Leaf, FloatArray] = {}
    told: Mask = np.zeros(size, dtype=np.bool_)
    place = rows["step"].astype(np.int64) - low
    amount = rows[column].astype(np.float64)
    for index, leaf in enumerate(zip(rows["tenant"], rows["length_bucket"], strict=True)):
        if 0 <= place[index] < size:
            found.setdefault((leaf[0], leaf[1]), np.zeros(size))[place[index]] += amount[index]
            told[place[index]] |= bool(np.isfinite(amount[index]))
    return found, told


def check_tenant(reader: Reader, tenant: str) -> None:
    """Raise UnknownNameError where no request of any model was ever `tenant`'s."""
    known = [str(name) for name in reader.columns("forecast_tenants")["tenant"]]
    if tenant not in known:
        raise UnknownNameError("tenant", tenant, known)


def _check_model(reader: Reader, model: str) -> None:
    known = [str(name) for name in reader.columns("forecast_models")["model"]]
    if model not in known:
        raise UnknownNameError("model", model, known)

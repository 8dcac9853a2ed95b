"""How much demand comes next, per model and tenant, with a band; reads the public views, never writes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from analytics.forecast import Event, Forecaster, default
from analytics.forecast.history import DAY_SECONDS, MAX_AHEAD_DAYS, FloatArray, TimeArray, checked_step
from collector.answers.demand import SIGNALS, Demand, check_tenant, demand, demand_of
from collector.answers.forecast_backtest import backtest
from collector.answers.forecast_parts import parts_of
from collector.answers.forecast_points import plain, points, rfc3339
from collector.store.reader import Reader
from signals.errors import ConfigError

__all__ = ["SIGNALS", "backtest", "demand", "forecast"]

#: A tenant younger than this borrows the fleet's past, where the fleet has at least as much again.
NEW_TENANT_DAYS = 2.0
#: Leads at which the blend's weights are told.
TOLD_SECONDS = (600, 3_600, 21_600, DAY_SECONDS)
#: Width of the windows in which bursts are counted.
BURST_SECONDS = 10


def forecast(
    reader: Reader,
    now: datetime,
    *,
    model: str,
    tenant: str | None = None,
    signal: str = "requests",
    horizon_seconds: float = DAY_SECONDS,
    step_seconds: int = 600,
    timezone: str = "UTC",
    cold_start_seconds: float = 600,
    parts: int = 0,
    events: Sequence[Event] = (),
) -> dict[str, object]:
    """Return the forecast of `signal` per second from `now` on, as CONTRACT's `forecast` object, and why.

    `reserve` is what demand may rise by within `cold_start_seconds`. With `parts` > 0 that many of the largest leaves
    (tenant x length bucket) and the rest are forecast too, so that they sum to the whole's median. `events` are days
    that people declared.
    """
    steps = _steps(horizon_seconds, step_seconds)
    found = demand_of(reader, now, model=model, signal=signal, step_seconds=step_seconds)
    if tenant is not None and not found.knows(tenant):
        check_tenant(reader, tenant)
    forecaster = _fitted(found, tenant, step_seconds, timezone, events)
    first = _next_step(found.times, step_seconds, int(now.timestamp()) // step_seconds)
    path = forecaster.predict(steps)
    dispersion = _dispersion(reader, now, model, tenant, step_seconds) if signal == "requests" else 1.0
    answer: dict[str, object] = {
        "model": model,
        "tenant": tenant,
        "signal": signal,
        "step_seconds": step_seconds,
        "unit": "per second",
        "timezone": timezone,
        "points": points(path, first * step_seconds, step_seconds),
        "basis": forecaster.basis,
        "confidence": forecaster.confidence,
        "backtest": _scores(forecaster),
        "history": _history(found.times, found.of_tenant(tenant), step_seconds),
        "level_shift": _shift(forecaster),
        "weights": {f"{s}s": forecaster.explain(max(1, round(s / step_seconds))) for s in TOLD_SECONDS},
        "reserve": _reserve(forecaster, cold_start_seconds, dispersion),
    }
    if parts > 0 and tenant is None and len(found.times):
        answer["parts"] = parts_of(found, path, parts, steps, step_seconds, timezone, first * step_seconds, events)
    return answer


def _fitted(found: Demand, tenant: str | None, step_seconds: int, timezone: str, events: Sequence[Event]) -> Forecaster:
    forecaster = default(step_seconds, timezone, events)
    values = found.of_tenant(tenant)
    if tenant is None:
        return forecaster.fit(found.times, values)
    used = np.flatnonzero(values > 0)
    new = len(used) > 0 and (len(values) - used[0]) * step_seconds < NEW_TENANT_DAYS * DAY_SECONDS
    if new and used[0] * step_seconds >= NEW_TENANT_DAYS * DAY_SECONDS:
        own = np.where(np.arange(len(values)) < used[0], np.nan, values)
        return forecaster.fit(found.times, own, fleet=found.whole)
    return forecaster.fit(found.times, values)


def _dispersion(reader: Reader, now: datetime, model: str, tenant: str | None, step_seconds: int) -> float:
    """Return variance over mean of arrivals in short windows of the past day, the mean taken within each step."""
    rows = reader.columns(
        "forecast_bursts", model=model, tenant=tenant, start=now - timedelta(days=1), until=now,
        step_seconds=step_seconds, window_seconds=BURST_SECONDS,
    )  # fmt: skip
    windows = max(2, step_seconds // BURST_SECONDS)
    arrivals, squares = rows["arrivals"].astype(np.float64), rows["squares"].astype(np.float64)
    if arrivals.sum() <= 0:
        return 1.0
    variance = (squares - np.square(arrivals) / windows) / (windows - 1)
    return float(variance.sum() / (arrivals / windows).sum())


def _reserve(forecaster: Forecaster, cold_start_seconds: float, dispersion: float) -> dict[str, object]:
    held = forecaster.reserve(cold_start_seconds, 0.99, dispersion)
    return {
        "horizon_seconds": held.horizon_seconds,
        "quantile": held.quantile,
        "ramp": plain(held.ramp),
        "burst": plain(held.burst),
        "total": plain(held.total),
        "dispersion": plain(dispersion),
    }


def _shift(forecaster: Forecaster) -> dict[str, object] | None:
    shift = forecaster.level_shift
    if shift is None:
        return None
    return {"since": rfc3339(_second(forecaster.time_of(shift.start))), "factor": shift.factor}


def _scores(forecaster: Forecaster) -> dict[str, object]:
    scores = forecaster.scores
    return {
        "mase": scores.mase,
        "skill_vs_naive_day": scores.skill,
        "pinball": scores.pinball,
        "coverage": scores.coverage,
        "origins": scores.origins,
    }


def _history(times: TimeArray, values: FloatArray, step_seconds: int) -> dict[str, object]:
    if len(times) == 0:
        return {"from": None, "to": None, "observed_ratio": None}
    return {
        "from": rfc3339(_second(times[0])),
        "to": rfc3339(_second(times[-1]) + step_seconds),
        "observed_ratio": float(np.isfinite(values).mean()),
    }


def _steps(horizon_seconds: float, step_seconds: int) -> int:
    longest = (MAX_AHEAD_DAYS - 1) * DAY_SECONDS
    if not 0 < horizon_seconds <= longest:
        raise ConfigError(f"horizon must be above 0 and at most {longest} s, got {horizon_seconds}", key="horizon")
    return math.ceil(horizon_seconds / checked_step(step_seconds))


def _next_step(times: TimeArray, step_seconds: int, otherwise: int) -> int:
    return _second(times[-1]) // step_seconds + 1 if len(times) else otherwise


def _second(time: np.datetime64) -> int:
    return int(time.astype("datetime64[s]").astype(np.int64))

"""How much demand comes next, per model and tenant, with a band; reads the public views, never writes."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np

from analytics.forecast import Forecaster, default
from analytics.forecast.forecaster import QUANTILES
from analytics.forecast.history import MAX_AHEAD_DAYS, MAX_DAYS, FloatArray, TimeArray, checked_step
from collector.store.reader import Columns, Reader
from signals.errors import ConfigError, UnknownNameError

__all__ = ["SIGNALS", "demand", "forecast"]

#: Signal to its column in requests and to the engine's counter that stands in where no request was recorded.
SIGNALS: dict[str, tuple[str, str]] = {
    "requests": ("requests", "first_tokens"),
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "cached_tokens": ("cached_tokens", "prefix_hit_tokens"),
    "output_tokens": ("output_tokens", "generation_tokens"),
}
#: An unfinished step counts from this age on, when there is nothing better.
LEAST_SECONDS = 1.0


def forecast(
    reader: Reader,
    now: datetime,
    *,
    model: str,
    tenant: str | None = None,
    signal: str = "requests",
    horizon_seconds: float = 86_400,
    step_seconds: int = 600,
    timezone: str = "UTC",
) -> dict[str, object]:
    """Return the forecast of `signal` per second from `now` on, as CONTRACT's `forecast` object."""
    steps = _steps(horizon_seconds, step_seconds)
    times, values = demand(reader, now, model=model, tenant=tenant, signal=signal, step_seconds=step_seconds)
    forecaster = default(step_seconds, timezone).fit(times, values)
    first = _next_step(times, step_seconds, int(now.timestamp()) // step_seconds)
    path = forecaster.predict(steps)
    return {
        "model": model,
        "tenant": tenant,
        "signal": signal,
        "step_seconds": step_seconds,
        "unit": "per second",
        "timezone": timezone,
        "points": _points(path, first * step_seconds, step_seconds),
        "basis": forecaster.basis,
        "confidence": forecaster.confidence,
        "backtest": _backtest(forecaster),
        "history": _history(times, values, step_seconds),
    }


def demand(
    reader: Reader,
    now: datetime,
    *,
    model: str,
    tenant: str | None = None,
    signal: str = "requests",
    step_seconds: int = 600,
) -> tuple[TimeArray, FloatArray]:
    """Return (starts of steps, rate per second) of the past `MAX_DAYS`, NaN where nothing watched the model.

    A step that was watched and had no request is 0. The step that `now` falls into counts only when no full one
    exists; the first and that one are rated over the seconds that they were watched.
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
    own = np.isfinite(watched["first_second"].astype(np.float64))
    if not own.any():
        _check_model(reader, model)
        return np.empty(0, dtype="datetime64[s]"), np.empty(0)
    leaves = reader.columns("forecast_requests", tenant=tenant, **window)
    first_second = float(np.nanmin(watched["first_second"].astype(np.float64)))
    low = int(first_second) // step_seconds
    high = int(now.timestamp()) // step_seconds
    totals = _totals(watched, leaves, signal, tenant, low, high - low + 1)
    seconds = np.full(len(totals), float(step_seconds))
    seconds[0] -= first_second - low * step_seconds
    seconds[-1] -= (high + 1) * step_seconds - now.timestamp()
    rates = totals / np.maximum(seconds, LEAST_SECONDS)
    full = len(rates) - 1
    if full > 0 and np.isfinite(rates[:full]).any():
        rates = rates[:full]
    times = ((low + np.arange(len(rates))) * step_seconds).astype("datetime64[s]")
    begin = int(np.argmax(np.isfinite(rates)))
    return times[begin:], rates[begin:]


def _totals(watched: Columns, leaves: Columns, signal: str, tenant: str | None, low: int, size: int) -> FloatArray:
    """Return the signal's sum per step: from requests, else from the engine's counter, else NaN."""
    column, counter = SIGNALS[signal]
    place = watched["step"].astype(np.int64) - low
    kept = (place >= 0) & (place < size)
    place = place[kept]
    seen = {name: watched[name][kept].astype(np.float64) for name in ("scrapes", "requests", "requests_of_any")}
    scraped = np.zeros(size, dtype=bool)
    scraped[place] = (seen["scrapes"] > 0) | (seen["requests"] > 0)
    if not (seen["scrapes"] > 0).any():
        scraped[place] |= seen["requests_of_any"] > 0
    totals = np.where(scraped, 0.0, np.nan)
    if tenant is None:
        counted = np.nan_to_num(watched[counter][kept].astype(np.float64))
        totals[place] = np.where((seen["requests"] == 0) & (counted > 0), counted, totals[place])
    amount = np.nan_to_num(leaves[column].astype(np.float64))
    known = np.bincount(leaves["step"].astype(np.int64) - low, weights=amount, minlength=size)[:size]
    summed: FloatArray = np.where(known > 0, known, totals)
    return summed


def _check_model(reader: Reader, model: str) -> None:
    known = [str(name) for name in reader.columns("forecast_models")["model"]]
    if model not in known:
        raise UnknownNameError("model", model, known)


def _steps(horizon_seconds: float, step_seconds: int) -> int:
    longest = (MAX_AHEAD_DAYS - 1) * 86_400
    if not 0 < horizon_seconds <= longest:
        raise ConfigError(f"horizon must be above 0 and at most {longest} s, got {horizon_seconds}", key="horizon")
    return math.ceil(horizon_seconds / checked_step(step_seconds))


def _next_step(times: TimeArray, step_seconds: int, otherwise: int) -> int:
    if len(times) == 0:
        return otherwise
    return int(times[-1].astype("datetime64[s]").astype(np.int64)) // step_seconds + 1


def _points(path: FloatArray, first_second: int, step_seconds: int) -> list[dict[str, object]]:
    names = [f"q{round(100 * quantile)}" for quantile in QUANTILES]
    points: list[dict[str, object]] = []
    for place, row in enumerate(path):
        stamp = datetime.fromtimestamp(first_second + place * step_seconds, UTC)
        values = {name: None if math.isnan(value) else float(value) for name, value in zip(names, row, strict=True)}
        points.append({"ts": _rfc3339(stamp), **values})
    return points


def _backtest(forecaster: Forecaster) -> dict[str, object]:
    scores = forecaster.scores
    return {"mase": scores.mase, "pinball": scores.pinball, "coverage": scores.coverage}


def _history(times: TimeArray, values: FloatArray, step_seconds: int) -> dict[str, object]:
    if len(times) == 0:
        return {"from": None, "to": None, "observed_ratio": None}
    first, last = (
        datetime.fromtimestamp(int(t.astype("datetime64[s]").astype(np.int64)), UTC) for t in (times[0], times[-1])
    )
    return {
        "from": _rfc3339(first),
        "to": _rfc3339(last + timedelta(seconds=step_seconds)),
        "observed_ratio": float(np.isfinite(values).mean()),
    }


def _rfc3339(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")

"""The demand series that forecasts are measured on, in two halves: one to tune on, one to report; never mixed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from analytics.forecast.history import DAY_SECONDS, FloatArray, TimeArray

#: Public traces lie beside the repository; see docs/how-to/forecast.md for what they are.
TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"
STEPS = {"5min": 300, "10min": 600, "30min": 1800, "hourly": 3600}
#: Long series are cut to their newest days, so that no series outweighs the others in time.
NEWEST_DAYS = 120
#: Tenants beside the ready-made series: the largest that called in (nearly) every window of the fortnight.
TENANTS = 12


@dataclass(frozen=True, slots=True)
class Series:
    """One demand series on a regular grid; NaN is missing."""

    name: str
    step_seconds: int
    times: TimeArray
    values: FloatArray
    train_days: int

    @property
    def day(self) -> int:
        """Steps per day."""
        return DAY_SECONDS // self.step_seconds


def halves() -> tuple[tuple[Series, ...], tuple[Series, ...]]:
    """Return (tuning, reporting) series: sorted by name, every other one, the ready-made ones and the tenants apart."""
    ready, tenants = _ready(), _tenants()
    return tuple(ready[1::2] + tenants[1::2]), tuple(ready[0::2] + tenants[0::2])


def _ready() -> list[Series]:
    """Return the ready-made series; windows in which no tenant of a whole model called are gaps of the trace."""
    rows = duckdb.sql(
        f"select series, ts, y from '{TRACES / 'demand_series.parquet'}' order by series, ts"
    ).fetchnumpy()
    names = np.asarray(rows["series"]).astype(str)
    found = []
    blind: dict[str, np.ndarray] = {}
    for name in np.unique(names):
        values = np.asarray(rows["y"])[names == name].astype(np.float64)
        if name.startswith("servegen") and name.count("_") == 2:
            blind[name.split("_")[1]] = values == 0
        times = np.asarray(rows["ts"])[names == name].astype("datetime64[s]")
        step = STEPS[name.rsplit("_", 1)[1]]
        newest = NEWEST_DAYS * DAY_SECONDS // step
        found.append(Series(str(name), step, times[-newest:], values[-newest:], 42 if step >= 1800 else 21))
    return [_blinded(one, blind) for one in found]


def _blinded(one: Series, blind: dict[str, np.ndarray]) -> Series:
    model = one.name.split("_")[1] if one.name.startswith("servegen") else ""
    if model not in blind:
        return one
    values = np.where(blind[model], np.nan, one.values)
    return Series(one.name, one.step_seconds, one.times, values, one.train_days)


def smaller_tenants(count: int = 24) -> tuple[Series, ...]:
    """Return the next largest always-on tenants, which are in neither half: more to tune on."""
    return tuple(_tenants(TENANTS, count))


def _tenants(skip: int = 0, count: int = TENANTS) -> list[Series]:
    """Return always-on tenants that are no ready-made series, in order of their mean rate, after the first `skip`."""
    source = f"'{TRACES / 'servegen_client_rates.parquet'}'"
    ready = [(one.name.split("_")[1], int(one.name.split("_")[2][1:])) for one in _ready() if "_c" in one.name]
    chosen = duckdb.sql(
        f"""select model, client from {source} group by all
        having count(*) filter (where rate > 0) >= 1900 order by sum(rate) desc"""
    ).fetchall()
    found = []
    for model, client in [pair for pair in chosen if pair not in ready][skip : skip + count]:
        rows = duckdb.sql(
            f"""select window_of.step, any_value(own.rate) as rate, sum(every.rate) as total
            from range(2016) as window_of(step)
            left join {source} as every on every.model = '{model}' and every.ts_s = window_of.step * 600
            left join {source} as own on own.model = '{model}' and own.client = {client}
                and own.ts_s = window_of.step * 600
            group by all order by step"""
        ).fetchnumpy()
        own = np.nan_to_num(np.ma.filled(rows["rate"].astype(np.float64), 0.0))
        total = np.nan_to_num(np.ma.filled(rows["total"].astype(np.float64), 0.0))
        times = np.datetime64("2025-01-06", "s") + np.arange(2016) * np.timedelta64(600, "s")
        found.append(Series(f"tenant_{model}_c{client}", 600, times, np.where(total > 0, own, np.nan), 21))
    return found

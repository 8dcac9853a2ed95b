"""The demand series that forecasts are measured on, in kinds, one half to tune on, one to report; never mixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np

from analytics.forecast.history import DAY_SECONDS, FloatArray, TimeArray

#: Public traces lie beside the repository; see docs/how-to/forecast.md for what they are.
TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"
STEPS = {"5min": 300, "10min": 600, "30min": 1800, "hourly": 3600}
#: Long series are cut to their newest days, so that no series outweighs the others in time.
NEWEST_DAYS = 120
#: Always-on tenants beside the ready-made series: so many of each model, the largest, and in the split before.
TENANTS_PER_MODEL, TENANTS_BEFORE = 6, 12
#: Windows of the fortnight (of 2,016) in which an always-on tenant called at least.
ALWAYS_ON = 1_900
#: Next smaller tenants that are only tuned on.
SMALLER = 24
MODELS = ("m-large", "m-mid")


@dataclass(frozen=True, slots=True)
class Series:
    """One demand series on a regular grid; NaN is missing."""

    name: str
    step_seconds: int
    times: TimeArray
    values: FloatArray
    train_days: int
    kind: str

    @property
    def day(self) -> int:
        """Steps per day."""
        return DAY_SECONDS // self.step_seconds


def halves() -> tuple[tuple[Series, ...], tuple[Series, ...]]:
    """Return (tuning, reporting) series: within each kind sorted by name, the first, third, ... are reported on.

    Kinds are public curves, whole models, the tenants that the traces name, and the largest always-on tenants of each
    model. What the split before reported on is left out of tuning, so that it can still be reported; the next smaller
    tenants, which are in no split, are added.

    The shape of the blend is older than this split: it was chosen while m-large and its c112, c21, c78, and m-mid's
    c60, c30 and c66 were tuned on. Nothing learnt or chosen since has seen them, and what `reported_before` returns was
    never tuned on at all.
    """
    every = [*_ready(), *(one for model in MODELS for one in _tenants((model,), TENANTS_PER_MODEL))]
    kinds = sorted({one.kind for one in every})
    sorted_by = {kind: sorted((one for one in every if one.kind == kind), key=lambda one: one.name) for kind in kinds}
    reported = tuple(one for kind in kinds for one in sorted_by[kind][0::2])
    closed = {one.name for one in (*reported, *reported_before())}
    known = {one.name: one for one in (*every, *_tenants(MODELS, TENANTS_BEFORE + SMALLER))}
    return tuple(one for name, one in known.items() if name not in closed), reported


def reported_before() -> tuple[Series, ...]:
    """Return what an earlier split reported on: every other series by name, no kinds; mostly restless tenants."""
    return tuple(_ready()[0::2] + _tenants(MODELS, TENANTS_BEFORE)[0::2])


def _kind(name: str) -> str:
    if not name.startswith("servegen"):
        return "public curve"
    return "named tenant" if "_c" in name else "whole model"


def _ready() -> list[Series]:
    """Return the ready-made series; windows in which no tenant of a whole model called are gaps of the trace."""
    rows = duckdb.execute(
        f"select series, ts, y from '{TRACES / 'demand_series.parquet'}' order by series, ts"
    ).fetchnumpy()
    names = np.asarray(rows["series"]).astype(str)
    found = []
    blind: dict[str, np.ndarray] = {}
    for name in np.unique(names):
        values = np.asarray(rows["y"])[names == name].astype(np.float64)
        if _kind(name) == "whole model":
            blind[name.split("_")[1]] = values == 0
        times = np.asarray(rows["ts"])[names == name].astype("datetime64[s]")
        step = STEPS[name.rsplit("_", 1)[1]]
        newest = NEWEST_DAYS * DAY_SECONDS // step
        train = 42 if step >= 1800 else 21
        found.append(Series(str(name), step, times[-newest:], values[-newest:], train, _kind(str(name))))
    return [_blinded(one, blind) for one in found]


def _blinded(one: Series, blind: dict[str, np.ndarray]) -> Series:
    model = one.name.split("_")[1] if one.name.startswith("servegen") else ""
    if model not in blind:
        return one
    return replace(one, values=np.where(blind[model], np.nan, one.values))


def _tenants(models: Sequence[str], count: int) -> list[Series]:
    """Return the `count` largest always-on tenants of the models that are no ready-made series."""
    source = f"'{TRACES / 'servegen_client_rates.parquet'}'"
    ready = [(one.name.split("_")[1], int(one.name.split("_")[2][1:])) for one in _ready() if "_c" in one.name]
    chosen = duckdb.execute(
        f"""select model, client from {source} group by all
        having count(*) filter (where rate > 0) >= {ALWAYS_ON} order by sum(rate) desc"""
    ).fetchall()
    found = []
    for model, client in [pair for pair in chosen if pair not in ready and pair[0] in models][:count]:
        rows = duckdb.execute(
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
        values = np.where(total > 0, own, np.nan)
        found.append(Series(f"tenant_{model}_c{client}", 600, times, values, 21, "other tenant"))
    return found

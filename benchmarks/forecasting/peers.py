"""Runs statsforecast on the benchmark's origins in its own environment; never imported by sloscope.

Reads tasks (one JSON object a line: id, model, day, steps, values) on stdin, answers one line each (id, path, seconds).
statsforecast cannot use gaps: they are filled from the day before, as its users do.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Mapping

import numpy as np

MODELS = ("mstl_arima", "theta", "auto_ets")


def main() -> int:
    """Answer every task; a model that fails on one answers without a path."""
    warnings.filterwarnings("ignore")
    for line in sys.stdin:
        task = json.loads(line)
        began = time.process_time()
        try:
            path = forecast(task["model"], filled(np.array(task["values"], dtype=float), task["day"]), task)
        except Exception as error:
            print(json.dumps({"id": task["id"], "error": str(error)[:200]}), flush=True)
            continue
        seconds = time.process_time() - began
        print(json.dumps({"id": task["id"], "path": [float(v) for v in path], "seconds": seconds}), flush=True)
    return 0


def forecast(name: str, values: np.ndarray, task: Mapping[str, int]) -> np.ndarray:
    """Return the path of one peer."""
    from statsforecast.models import MSTL, AutoARIMA, AutoETS, DynamicOptimizedTheta

    day, steps = task["day"], task["steps"]
    if name == "mstl_arima":
        model = MSTL(season_length=[day], trend_forecaster=AutoARIMA())
    elif name == "theta":
        model = DynamicOptimizedTheta(season_length=day)
    else:
        hourly = max(1, day // 24)
        coarse = values[len(values) % hourly :].reshape(-1, hourly).mean(axis=1)
        path = AutoETS(season_length=24).fit(coarse).predict(-(-steps // hourly))["mean"]
        return np.asarray(np.maximum(np.repeat(path, hourly)[:steps], 0.0))
    return np.asarray(np.maximum(model.fit(values).predict(steps)["mean"], 0.0))


def filled(values: np.ndarray, day: int) -> np.ndarray:
    """Return the values with gaps filled from a day (or more) before, else by the mean."""
    values = values.copy()
    for place in np.flatnonzero(np.isnan(values)):
        values[place] = values[place - day] if place >= day else np.nan
    return np.where(np.isnan(values), np.nanmean(values), values)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    sys.exit(main())

"""Grades past recommendations whose horizon has passed; returns grades, the job that calls it stores them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from math import nan

import numpy as np

from analytics.scaling.grade import grade
from collector.store.reader import Reader

__all__ = ["grades"]


def grades(
    reader: Reader, now: datetime, *, since: timedelta = timedelta(hours=6), objective_seconds: float = 2.0
) -> list[dict[str, object]]:
    """Return `{"ts", "pool", "grade", "because"}` for every ungraded decision that can be judged by now.

    Judged is the demand of the two minutes around the horizon, for pools that are alone in serving their model; where
    several share it, the model's demand is compared with the sum of what was proposed for them at that time.
    """
    rows = reader.columns("scale_ungraded", since=now - since, now=now)
    if len(rows["ts"]) == 0:
        return []
    after = reader.columns("scale_outcomes", since=now - since, now=now, objective_seconds=objective_seconds)
    documents = [json.loads(text) for text in rows["document"].tolist()]
    together: dict[tuple[object, object], list[int]] = {}
    for place, key in enumerate(zip(rows["ts"].tolist(), rows["model"].tolist(), strict=True)):
        together.setdefault(key, []).append(place)
    found = []
    for (_, model), places in together.items():
        document = dict(documents[places[0]])
        document["proposed"] = sum(int(documents[place].get("proposed") or 0) for place in places)
        lead = np.timedelta64(int(1e6 * float(document.get("forecast_horizon_seconds") or 180.0)), "us")
        at = rows["ts"][places[0]] + lead
        mine = (after["model"] == model) & (np.abs((after["minute"] - at) / np.timedelta64(1, "s")) <= 90)
        rate = float(np.max(after["rate"][mine].astype(np.float64))) if mine.any() else nan
        judged = float(np.nansum(after["judged"][mine].astype(np.float64)))
        good = float(np.nansum(after["good"][mine].astype(np.float64))) / judged if judged else nan
        result = grade(document, rate, good)
        found += [
            {"ts": rows["ts"][place], "pool": rows["pool"][place], "grade": result.verdict, "because": result.because}
            for place in places
        ]
    return found

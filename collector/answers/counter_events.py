"""Finds aborts and rejections that only engines' counters know, by model and minute; attributes none to a tenant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import numpy as np
import numpy.typing as npt

from analytics.slo import Objective
from collector.answers.objective_scope import scope_parameters
from collector.store.reader import Reader

#: (model, hour) → how many late first tokens a page counts beyond the recorded ones.
Surplus = Mapping[tuple[str | None, np.datetime64], int]


def unattributed_minutes(
    reader: Reader, objective: Objective, start: datetime, end: datetime
) -> list[tuple[str | None, np.datetime64, int]]:
    """Return (model, minute, bad events) of what only counters know, in [start, end).

    What requests record of it is taken off: a count never exceeds counted - recorded up to any later minute.
    Of aborts a TTFT objective needs no more than their first token, and the page's TTFT histogram has counted it. In
    hours that only pages know nothing is left to add. In others no more aborts are bad than the page has late first
    tokens that nobody recorded: clients that press Stop after a good first token stay out of it.
    """
    wanted = {"since": start, "until": end, "model": scope_parameters(objective)["model"]}
    columns = reader.columns("slo_counter_minutes", **wanted)
    if not len(columns["ts"]):
        return []
    late = _late_first_tokens(reader, objective, wanted)
    found = []
    models = columns["model"].tolist()
    for model in dict.fromkeys(models):
        place = np.array([name == model for name in models])
        minutes = columns["ts"][place]
        counts = {
            name: columns[name][place].astype(np.float64)
            for name in ("aborted", "rejected", "recorded_aborted", "recorded_rejected")
        }
        if objective.clock == "first_token":
            counts["aborted"][columns["by_page"][place].astype(bool)] = 0.0
        aborted = _beyond(counts["aborted"], counts["recorded_aborted"])
        if late is not None:
            aborted = _capped(aborted, minutes, model, late)
        hidden = aborted + _beyond(counts["rejected"], counts["recorded_rejected"])
        found += [
            (model, minute, round(count)) for minute, count in zip(minutes, hidden, strict=True) if round(count) > 0
        ]
    return found


def _beyond(counted: npt.NDArray[np.float64], recorded: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return per minute what counters have beyond records, whichever of the two is ahead for a while."""
    surplus = np.cumsum(counted - recorded)
    level = np.maximum(0.0, np.minimum.accumulate(surplus[::-1])[::-1])
    return np.diff(level, prepend=0.0)


def _late_first_tokens(reader: Reader, objective: Objective, wanted: Mapping[str, object]) -> Surplus | None:
    """Return late first tokens beyond the recorded ones; None where the objective is not one limit on TTFT."""
    if objective.clock != "first_token" or objective.thresholds[0].by_length:
        return None
    limit = objective.thresholds[0].at_most_seconds
    columns = reader.columns("slo_late_first_tokens", **wanted, threshold=limit)
    return {
        (model, hour): max(0, int(surplus))
        for model, hour, surplus in zip(columns["model"].tolist(), columns["hour"], columns["surplus"], strict=True)
    }


def _capped(
    aborted: npt.NDArray[np.float64], minutes: npt.NDArray[np.generic], model: str | None, late: Surplus
) -> npt.NDArray[np.float64]:
    """Keep of each hour's aborts no more than its surplus of late first tokens; hours without a page keep all."""
    found = aborted.copy()
    hours = minutes.astype("datetime64[h]").astype("datetime64[us]")
    for hour in np.unique(hours):
        most = late.get((model, hour))
        if most is not None:
            here = hours == hour
            found[here] = np.diff(np.minimum(np.cumsum(aborted[here]), most), prepend=0.0)
    return found

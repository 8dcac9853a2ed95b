"""Turns the rows of scale_windows.sql into what the load frontier is learned from; learns nothing itself."""

from __future__ import annotations

import numpy as np

from analytics.scaling import Windows
from collector.answers.scale_pages import Page
from collector.answers.scale_roster import Rows
from collector.store.reader import Columns

#: Work of one generated token in computed prompt tokens: decode reads weights and KV once per step for one token a
#: request, prefill shares that read among hundreds. Four is the ratio of the seeds' measured rates.
DECODE_WEIGHT = 4.0
#: Fewer judged requests than this say nothing about a tail.
ENOUGH_JUDGED = 1


def windows_of(columns: Columns, rows: Rows, page: Page) -> Windows:
    """Return the pool's instance-windows; rates are weighted by the length of their requests against now's."""

    def column(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.asarray(columns[name][rows], dtype=np.float64)

    first_tokens, seconds = column("first_tokens"), column("seconds")
    judged, running = column("judged"), column("running")
    with np.errstate(all="ignore"):
        rate = first_tokens / seconds
        work = (column("computed_tokens") + DECODE_WEIGHT * column("generation_tokens")) / seconds
        good = np.where(judged >= ENOUGH_JUDGED, column("good") / judged, np.nan)
        per_request = work / rate
        recent = per_request[np.isfinite(per_request) & (rate > 0)][-60:]
        now = float(np.median(recent)) if len(recent) else np.nan
        # What was served, in requests of today's length: work per second over today's work per request.
        weight = np.where(np.isfinite(per_request) & (now > 0), per_request / now, 1.0)
        seats = running / page.max_running if page.max_running > 0 else np.full(len(rows), np.nan)
        occupancy = np.fmax(seats, column("kv_usage_ratio"))
    age = np.full(len(rows), np.nan)
    queued = np.zeros(len(rows), dtype=bool)
    before: dict[str, float] = {}
    queue_min = column("queue_min")
    for place, (instance, step) in enumerate(zip(columns["instance"][rows], columns["step"][rows], strict=True)):
        queued[place] = before.get(str(instance), 0.0) >= 1
        before[str(instance)] = queue_min[place]
        ready = page.ready_at.get(str(instance))
        if ready is not None:
            age[place] = (step.astype("datetime64[us]").item() - ready.replace(tzinfo=None)).total_seconds()
    return Windows(
        rate=np.where(np.isfinite(rate), rate, 0.0),
        good_ratio=good,
        queue_min=queue_min,
        running=running,
        occupancy=occupancy,
        age_seconds=age,
        hangover=queued,
        weight=weight,
        regime=columns["version"][rows].astype(object),
    )

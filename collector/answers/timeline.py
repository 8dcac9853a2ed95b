"""Draws the course of a model over time: latency, traffic, queue, KV and changes per step; explains nothing."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from collector.store.reader import Columns, Reader
from signals.errors import ConfigError

#: Points that a chart can show; the step is widened until the window has fewer.
MAX_POINTS = 400
STEPS_SECONDS = (5, 10, 15, 30, 60, 300, 600, 1_800, 3_600, 21_600, 86_400)
DEFAULT_WINDOW = timedelta(hours=1)


def timeline(
    reader: Reader,
    now: datetime,
    *,
    model: str | None = None,
    tenant: str | None = None,
    length_bucket: str | None = None,
    instance: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    window_seconds: float | None = None,
) -> dict[str, object]:
    """Return `points` (requests by step, in seconds and ratios), `engine` (scrapes by step) and `changes`.

    The window is [start, end), else the `window_seconds` before `now` (an hour). A step without requests has no
    latency; a step without scrapes has no queue: missing is null.
    """
    until = end or now
    span = timedelta(seconds=window_seconds) if window_seconds else DEFAULT_WINDOW
    begin = start or until - span
    if begin >= until:
        raise ConfigError(f"the window is empty: from {begin.isoformat()} to {until.isoformat()}")
    step = step_for((until - begin).total_seconds())
    window = {"start": begin, "end": until + timedelta(seconds=1), "step": step}
    scope = {"model": model, "tenant": tenant, "length_bucket": length_bucket, "instance": instance}
    requests = reader.columns("timeline_requests", **window, **scope)
    engine = reader.columns("timeline_engine", **window, model=model, instance=instance)
    gpus = reader.columns("timeline_gpus", **window, instance=instance)
    changes = reader.columns("timeline_changes", start=begin, end=window["end"], model=model)
    return {
        "step_seconds": step,
        "from": begin,
        "to": until,
        "points": rows_of(requests),
        "engine": rows_of(engine),
        "gpus": rows_of(gpus),
        "changes": rows_of(changes),
    }


def inventory(reader: Reader, now: datetime) -> dict[str, object]:
    """Return what there is to choose from: models, tenants, length buckets, instances with their last sight."""
    return {
        "models": [str(name) for name in reader.columns("inventory_models")["model"]],
        "tenants": [str(name) for name in reader.columns("inventory_tenants")["tenant"]],
        "length_buckets": [str(name) for name in reader.columns("inventory_lengths")["length_bucket"]],
        "instances": rows_of(reader.columns("inventory_instances", now=now)),
        "newest": reader.newest(),
        "quality": rows_of(reader.columns("inventory_quality")),
    }


def step_for(seconds: float) -> int:
    """Return the narrowest step that draws a window of so many seconds in at most MAX_POINTS points.

    >>> step_for(3600), step_for(86400)
    (10, 300)
    """
    return next((step for step in STEPS_SECONDS if seconds / step <= MAX_POINTS), STEPS_SECONDS[-1])


def rows_of(columns: Columns) -> list[dict[str, object]]:
    """Return the columns as rows of plain values: times RFC 3339, missing is None."""
    length = len(next(iter(columns.values()))) if columns else 0
    return [{name: plain_cell(array[place]) for name, array in columns.items()} for place in range(length)]


def plain_cell(value: object) -> object:
    """Return one cell as JSON knows it."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else f"{value.astype('datetime64[us]')}Z"
    if isinstance(value, np.ndarray):
        return [plain_cell(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value != value:
        return None
    return value

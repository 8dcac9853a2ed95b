"""How good forecasts would have been on your own history: learnt anew at past origins; never on what was to come."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from analytics.forecast import Backtest, Event, default, rolling_origins
from analytics.forecast import backtest as run
from analytics.forecast.backtest import BUCKETS
from analytics.forecast.history import DAY_SECONDS, FloatArray
from collector.answers.demand import demand
from collector.answers.forecast_points import plain
from collector.store.reader import Reader
from signals.errors import NotEnoughDataError

#: Origins: enough to tell good from bad, few enough to wait for.
ORIGINS = 24
#: Days that must lie before the first origin, and days in all.
LEARN_DAYS, LEAST_DAYS = 2.0, 3.5
BLOCKS = " ▁▂▃▄▅▆▇█"
PICTURE_WIDTH = 72


def backtest(
    reader: Reader,
    now: datetime,
    *,
    model: str,
    tenant: str | None = None,
    signal: str = "requests",
    step_seconds: int = 600,
    timezone: str = "UTC",
    origins: int = ORIGINS,
    events: Sequence[Event] = (),
) -> dict[str, object]:
    """Return skill against naive day, MASE, pinball loss, coverage by lead time, CPU seconds, and a picture.

    Declared `events` are known at every origin, as they are to the forecast itself.
    """
    times, values = demand(reader, now, model=model, tenant=tenant, signal=signal, step_seconds=step_seconds)
    day = DAY_SECONDS // step_seconds
    days = len(times) / day
    if days < LEAST_DAYS:
        raise NotEnoughDataError(
            f"a backtest needs {LEAST_DAYS} days of history, {days:.1f} are stored; "
            "the forecast itself works from the first minutes on",
            days=days,
        )
    past = rolling_origins(len(times), day, origins, min(7.0, max(LEARN_DAYS, days / 2)))
    found = run(
        times, values, lambda: default(step_seconds, timezone, events), past,
        step_seconds=step_seconds, clock=time.process_time,
    )  # fmt: skip
    rows = [_row(found, bucket) for bucket in BUCKETS if _told(found, bucket)]
    return {
        "model": model,
        "tenant": tenant,
        "signal": signal,
        "step_seconds": step_seconds,
        "origins": len(found.origins),
        "days": round(days, 2),
        "rows": rows,
        "cpu_seconds": {
            "refit": float(np.mean(found.fit_seconds)),
            "predict": float(np.mean(found.predict_seconds)),
        },
        "picture": picture(found),
    }


def picture(found: Backtest) -> str:
    """Return the newest origin's day as three lines of blocks: what came, what was said, and the .9 quantile."""
    came = found.actual[-1]
    said = found.said[-1, :, found.quantiles.index(0.5)]
    high = found.said[-1, :, found.quantiles.index(0.9)]
    top = float(np.nanmax([np.nanmax(came, initial=0.0), np.nanmax(high, initial=0.0)]))
    lines = [f"{name:<5}{_blocks(path, top)}" for name, path in (("came", came), ("q50", said), ("q90", high))]
    start = str(found.origins[-1].astype("datetime64[m]")).replace("T", " ")
    return "\n".join([f"the day from {start} UTC, full block = {top:.3g} per second", *lines])


def _blocks(path: FloatArray, top: float) -> str:
    parts = np.array_split(path, min(PICTURE_WIDTH, len(path)))
    drawn = []
    for part in parts:
        known = part[np.isfinite(part)]
        level = float(known.mean()) / top if len(known) and top > 0 else 0.0
        drawn.append("?" if not len(known) else BLOCKS[min(len(BLOCKS) - 1, math.ceil(level * (len(BLOCKS) - 1)))])
    return "".join(drawn)


def _told(found: Backtest, bucket: str) -> bool:
    return len(found.errors(bucket)[0]) > 0


def _row(found: Backtest, bucket: str) -> dict[str, object]:
    pinball, covered = found.pinball(bucket), found.coverage(bucket)
    return {
        "lead": bucket,
        "skill_vs_naive_day": plain(1 - found.relative_mae(bucket)),
        "mase": plain(found.mase(bucket)),
        "pinball": {f"q{round(100 * q)}": plain(value) for q, value in pinball.items()},
        "coverage": {f"q{round(100 * q)}": plain(value) for q, value in covered.items()},
        "head_room_q99": plain(found.head_room(bucket, 0.99)),
    }

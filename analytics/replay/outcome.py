"""Judges what a policy did: good ratio, bad minutes, GPU-hours, flaps; the same way for every policy."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
import numpy.typing as npt

from analytics.replay.fluid import Run

#: A change of direction within this time is a flap.
FLAP_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """One policy's day; `usd` and `p99_ttft` are NaN where price or requests are unknown."""

    policy: str
    good_ratio: float
    bad_minutes: int
    gpu_hours: float
    flaps: int
    scale_events: int
    p99_ttft: float = nan
    usd: float = nan


def within(
    ttft: npt.NDArray[np.float64],
    e2e: npt.NDArray[np.float64],
    output_tokens: npt.NDArray[np.int64],
    ttft_seconds: float,
    tpot_seconds: float,
) -> npt.NDArray[np.bool_]:
    """Return which requests were good: first token and, with several tokens, time per output token within limits."""
    with np.errstate(invalid="ignore", divide="ignore"):
        tpot = (e2e - ttft) / (output_tokens - 1)
    slow = (output_tokens > 1) & ~(tpot <= tpot_seconds)
    return (ttft <= ttft_seconds) & ~slow


def judge(policy: str, run: Run, gpus: int = 1, usd_per_gpu_hour: float = nan, target: float = 0.99) -> Outcome:
    """Return the outcome of a fluid run; a minute is bad where fewer than `target` of its requests were good."""
    hours = float(run.billed.sum()) * run.tick_seconds / 3600 * gpus
    total = float(run.arrived.sum())
    per = max(1, round(60 / run.tick_seconds))
    whole = len(run.arrived) // per * per
    arrived = run.arrived[:whole].reshape(-1, per).sum(axis=1)
    good = run.good[:whole].reshape(-1, per).sum(axis=1)
    flaps, events = changes(run.asked, run.tick_seconds)
    return Outcome(
        policy,
        float(run.good.sum()) / total if total else nan,
        int((good < target * arrived - 1e-9).sum()),
        hours,
        flaps,
        events,
        usd=hours * usd_per_gpu_hour,
    )


def tail(run: Run, first: int) -> Run:
    """Return the run from tick `first` on (what came before was only there to learn from)."""
    return Run(
        run.tick_seconds,
        run.asked[first:],
        run.ready[first:],
        run.arrived[first:],
        run.good[first:],
        run.billed[first:],
        run.queue[first:],
    )


def changes(asked: npt.NDArray[np.int64], tick_seconds: float) -> tuple[int, int]:
    """Return (flaps, changes): a flap is a change against the direction of one at most 30 minutes before."""
    steps = np.diff(asked)
    places = np.flatnonzero(steps)
    signs = np.sign(steps[places])
    close = np.diff(places) * tick_seconds <= FLAP_SECONDS
    return int((close & (signs[1:] != signs[:-1])).sum()), len(places)

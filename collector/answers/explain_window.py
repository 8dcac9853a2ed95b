"""Finds the window that a question is about, with its baseline: given, around a moment, or the worst of late."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from analytics.rootcause import Change, compare, overdispersion, scan, spikes
from analytics.rootcause.baseline import Baseline, baseline_for
from analytics.rootcause.leaves import FloatArray, IntArray
from analytics.rootcause.spike import SMALLEST_RATIO, SMALLEST_TOKEN_RATIO
from analytics.rootcause.timeline import SMALLEST_BASELINE, Timeline, calm_steps, step_for, threshold_of, timeline_of
from collector.store.reader import Reader

#: Metric names that can be explained, and the scraped histogram that stands in where no request tells the metric.
METRICS: dict[str, str | None] = {
    "ttft": "ttft_seconds",
    "tpot": "tpot_seconds",
    "e2e": "e2e_seconds",
    "goodput": "ttft_seconds",
    "throughput": "e2e_seconds",
    "cost": "e2e_seconds",
    "kv_hit": None,
    "acceptance": None,
}
RATIOS = ("kv_hit", "acceptance")
LOOKBACK = timedelta(hours=3)
HISTORY = timedelta(hours=1)
#: Without a spike, this long before and after a moment is judged: a twentieth of the record within these bounds.
QUIET_SECONDS = (25.0, 300.0)
#: A search that finds no spike has still looked at the newest steps: what is this clear there is a change all the same.
LONE_Z = 6.0
#: Upper edge of a bin of explain_values.sql: 1.05 to the power of its number.
VALUE_BASE = 1.05
FAILED_BIN, ZERO_BIN = 100_000, -100_000


#: Columns (step, upper edge, events).
Rows = tuple[IntArray, FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: which model and metric, in which window if any, seen from `now`.

    With `rise`, a share of tokens is asked about that went up instead of down: accepted drafts are what is counted.
    """

    model: str
    metric: str
    now: datetime
    start: datetime | None
    end: datetime | None
    at: datetime | None
    rise: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The window in steps with its baseline and whether it is a change; `source` = requests or pages."""

    timeline: Timeline
    baseline: Baseline
    change: Change
    source: str
    onset: tuple[int, int, int]


def moment(step: int, seconds: int) -> datetime:
    return datetime.fromtimestamp(step * seconds, UTC)


def find(reader: Reader, asked: Asked, span: tuple[datetime, datetime]) -> Found | None:
    """Look for the window that is asked for, from requests if there are any, else from pages."""
    for source in ("requests", "pages"):
        found = _find_in(reader, asked, span, source)
        if found is not None:
            return found
    return None


def _find_in(reader: Reader, asked: Asked, span: tuple[datetime, datetime], source: str) -> Found | None:
    first, last = span
    if asked.start is not None or asked.end is not None:
        start = asked.start or first
        end = min(asked.end or asked.now, last + timedelta(seconds=1))
        if start >= end:
            return None
        step = step_for((end - start).total_seconds())
        timeline = _timeline(reader, asked, start - HISTORY, last + timedelta(seconds=1), step, source)
        return None if timeline is None else _given(reader, asked, timeline, (start, end), source, first)
    around = asked.at
    low = max(first, (around or asked.now) - LOOKBACK - HISTORY)
    high = last + timedelta(seconds=1) if around is None else min(last + timedelta(seconds=1), around + LOOKBACK)
    step = step_for((high - low).total_seconds() / 8)
    timeline = _timeline(reader, asked, low, high, step, source)
    return None if timeline is None else _searched(reader, asked, timeline, source, first)


def _given(
    reader: Reader, asked: Asked, timeline: Timeline, window: tuple[datetime, datetime], source: str, oldest: datetime
) -> Found | None:
    step = timeline.step_seconds
    first, last = int(window[0].timestamp() // step), int(-(-window[1].timestamp() // step))
    if last - first >= 0.6 * len(timeline.counts):
        return _searched(reader, asked, timeline, source, oldest, (first, last))
    blended = _blended(reader, asked, timeline, (first, last), source, oldest)
    baseline = baseline_for(blended, first, last)
    if baseline is None:
        return None
    change = _change(blended, baseline)
    total, bad = timeline.total, timeline.bad(baseline.threshold)
    spike = None
    if change.significant:
        low, high = max(first - 2 - timeline.first, 0), min(last - timeline.first, len(total))
        if high > low:
            spike = scan(total, bad, change.overdispersion, (low, high), _smallest(timeline), change.share_before)
    onset = (first, first, first) if spike is None else _onset(timeline, spike.first, spike.onset_low, spike.onset_high)
    return Found(blended, baseline, change, source, onset)


def _searched(
    reader: Reader,
    asked: Asked,
    timeline: Timeline,
    source: str,
    oldest: datetime,
    within: tuple[int, int] | None = None,
) -> Found | None:
    """Find the most significant spike (around a moment); without one, judge the steps in question all the same."""
    around = asked.at if within is None else None
    everything = np.ones(len(timeline.counts), dtype=bool)
    threshold = threshold_of(timeline, everything)
    if threshold is None:
        return None
    total, bad = timeline.total, timeline.bad(threshold)
    calm = timeline.mask(calm_steps(timeline, everything, threshold))
    dispersion = overdispersion(total[calm], bad[calm])
    usual = float((bad[calm].sum() + 0.5) / (total[calm].sum() + 1.0))
    bounds = None
    if within is not None:
        bounds = max(within[0] - timeline.first, 0), min(within[1] - timeline.first, len(total))
    # A record that begins slow has nothing before it to have risen from.
    told = np.cumsum(total)
    found = [
        spike
        for spike in spikes(total, bad, dispersion, bounds, _smallest(timeline), usual)
        if spike.first > 0 and told[spike.first - 1] >= SMALLEST_BASELINE
    ]
    if around is None:
        spike = found[0] if found else None
        middle = timeline.last - 1
    else:
        middle = int(around.timestamp() // timeline.step_seconds)
        place = middle - timeline.first
        spike = next((item for item in found if item.first - 1 <= place <= item.last), None)
    if spike is None:
        seconds = min(max(len(total) * timeline.step_seconds / 20, QUIET_SECONDS[0]), QUIET_SECONDS[1])
        width = max(int(seconds // timeline.step_seconds), 1)
        first, last = middle - width, middle + (1 if around is None else width)
    else:
        first, last = timeline.first + spike.first, timeline.first + spike.last
    blended = _blended(reader, asked, timeline, (first, last), source, oldest)
    baseline = baseline_for(blended, first, last)
    if baseline is None:
        return None
    change = _change(blended, baseline)
    if spike is None:
        sure = around is not None or change.z >= LONE_Z
        quiet = replace(change, significant=change.significant and sure)
        return Found(blended, baseline, quiet, source, (first, first, first))
    return Found(blended, baseline, change, source, _onset(timeline, spike.first, spike.onset_low, spike.onset_high))


def _onset(timeline: Timeline, best: int, low: int, high: int) -> tuple[int, int, int]:
    return timeline.first + best, timeline.first + low, timeline.first + high + 1


def _change(timeline: Timeline, baseline: Baseline) -> Change:
    total, bad = timeline.total, timeline.bad(baseline.threshold)
    before, during = timeline.mask(baseline.before), timeline.mask(baseline.during)
    return compare(
        (float(total[before].sum()), float(bad[before].sum())),
        (float(total[during].sum()), float(bad[during].sum())),
        overdispersion(total[before], bad[before]),
        _smallest(timeline),
    )


def _smallest(timeline: Timeline) -> float:
    """Return the smallest ratio of bad shares that is a change: shares of tokens have only two edges."""
    return SMALLEST_TOKEN_RATIO if len(timeline.edges) == 2 else SMALLEST_RATIO


def _blended(
    reader: Reader, asked: Asked, recent: Timeline, window: tuple[int, int], source: str, oldest: datetime
) -> Timeline:
    """Add the same time of yesterday and of last week to the recent history, where it is stored."""
    step, found = recent.step_seconds, [recent.rows()]
    for days in (1, 7):
        back = days * 86_400 // step
        low, high = moment(window[0] - back, step), moment(window[1] - back, step)
        if high > oldest and window[1] - back < recent.first:
            found.append(_rows(reader, asked, (low, high), step, source))
    if len(found) == 1:
        return recent
    steps, edges, counts = (np.concatenate(column) for column in zip(*found, strict=True))
    return timeline_of(steps, edges, counts, step) or recent


def _timeline(reader: Reader, asked: Asked, low: datetime, high: datetime, step: int, source: str) -> Timeline | None:
    """Read the metric's recent history; None where nothing was recorded."""
    return timeline_of(*_rows(reader, asked, (low, high), step, source), step)


def _rows(reader: Reader, asked: Asked, span: tuple[datetime, datetime], step: int, source: str) -> Rows:
    """Read (step, upper edge, events) of the metric in a span of time."""
    common = {"model": asked.model, "low": span[0], "high": span[1], "step": step}
    if asked.metric in RATIOS:
        query = "explain_ratios" if source == "requests" else "explain_page_ratios"
        rows = reader.columns(query, metric=asked.metric, **common)
        steps = rows["step"].astype(np.int64)
        # Tokens of one request come and go together: a hundred stand for one event.
        total, bad = rows["total"].astype(np.float64) / 100, rows["bad"].astype(np.float64) / 100
        if asked.rise:
            bad = total - bad
        edges = np.concatenate([np.zeros(len(steps)), np.full(len(steps), np.inf)])
        return np.concatenate([steps, steps]), edges, np.concatenate([total - bad, bad])
    if source == "pages":
        rows = reader.columns("explain_edges", histogram=METRICS[asked.metric], **common)
        edges = rows["edge_hi"].astype(np.float64)
        return rows["step"].astype(np.int64), np.where(np.isnan(edges), np.inf, edges), rows["count"].astype(np.float64)
    rows = reader.columns("explain_values", metric=asked.metric, **common)
    bins = rows["bin"].astype(np.float64)
    finite = np.where(bins <= ZERO_BIN, 0.0, VALUE_BASE ** np.clip(bins, -600, 600))
    return rows["step"].astype(np.int64), np.where(bins >= FAILED_BIN, np.inf, finite), rows["count"].astype(np.float64)

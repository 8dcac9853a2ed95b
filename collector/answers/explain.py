"""Answers why a model got slow: reads the record, asks analytics, says it as the contract does; stores nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from analytics.rootcause import (
    Change,
    Diagnosis,
    Observations,
    Scene,
    compare,
    diagnose,
    localise,
    overdispersion,
    scan,
    spikes,
)
from analytics.rootcause.baseline import Baseline, baseline_for
from analytics.rootcause.diagnosis import Ranked
from analytics.rootcause.leaves import COUNT_COLUMNS
from analytics.rootcause.observations import DIMENSIONS, EXTRA_DIMENSIONS
from analytics.rootcause.timeline import Timeline, calm_steps, step_for, threshold_of, timeline_of
from collector.store.reader import Columns, Reader, as_datetime
from signals.errors import InputError, UnknownNameError

#: Metric names that can be explained, and the scraped histogram that stands in where no request tells the metric.
METRICS: dict[str, str | None] = {
    "ttft": "ttft_seconds",
    "tpot": "tpot_seconds",
    "e2e": "e2e_seconds",
    "goodput": "ttft_seconds",
    "kv_hit": None,
    "acceptance": None,
}
ALIASES = {
    "itl": "tpot",
    "ttft_seconds": "ttft",
    "tpot_seconds": "tpot",
    "e2e_seconds": "e2e",
    "cache_hit": "kv_hit",
    "latency": "e2e",
}
RATIOS = ("kv_hit", "acceptance")
LOOKBACK = timedelta(hours=3)
HISTORY = timedelta(hours=1)
#: Without a spike, this long before and after a moment is judged: a twentieth of the record within these bounds.
QUIET_SECONDS = (25.0, 300.0)
#: Upper edge of a bin of explain_values.sql: 1.05 to the power of its number.
VALUE_BASE = 1.05
FAILED_BIN, ZERO_BIN = 100_000, -100_000


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: which model and metric, in which window if any, seen from `now`."""

    model: str
    metric: str
    now: datetime
    start: datetime | None
    end: datetime | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Found:
    """The window in steps with its baseline and whether it is a change; `source` = requests or pages."""

    timeline: Timeline
    baseline: Baseline
    change: Change
    source: str
    onset: tuple[int, int, int]


def explain(
    reader: Reader,
    now: datetime,
    *,
    model: str,
    metric: str = "ttft",
    start: datetime | None = None,
    end: datetime | None = None,
    at: datetime | None = None,
) -> dict[str, object]:
    """Explain a window, the spike around a moment, or the most significant spike of the last hours before `now`."""
    asked = Asked(model, _metric(metric), now, start, end, at)
    span = _span(reader, asked)
    if span is None:
        return _nothing(asked, "no requests and no pages of this model are stored", ("requests", "engine_samples"))
    found = _find(reader, asked, span)
    if found is None:
        return _nothing(asked, "too little was recorded to compare with", ("requests",))
    if not found.change.significant:
        return _quiet(asked, found)
    scene = Scene(_observe(reader, asked, found))
    return _answer(asked, found, scene, diagnose(scene, found.change.z))


def explain_counts(columns: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, object]:
    """Explain a table of counts: every column beside the four counts is a dimension."""
    missing = [name for name in COUNT_COLUMNS if name not in columns]
    if missing:
        raise InputError(f"counts lack the columns {', '.join(missing)}", missing=missing)
    dimensions = [name for name in columns if name not in COUNT_COLUMNS]
    return {"segments": [segment.as_json() for segment in localise(columns, dimensions)]}


def _metric(name: str) -> str:
    known = ALIASES.get(name, name)
    if known not in METRICS:
        raise UnknownNameError("metric", name, [*METRICS, *ALIASES])
    return known


def _span(reader: Reader, asked: Asked) -> tuple[datetime, datetime] | None:
    """Return the first and last recorded time, None where nothing is stored; an unknown model is an error."""
    row = reader.columns("explain_span", model=asked.model, now=asked.now)
    known = [row[name][0] for name in ("first_request", "first_page", "last_request", "last_page")]
    times = [as_datetime(value) for value in known if not np.isnat(value)]
    if times:
        return min(times), max(times)
    models = [str(name) for name in reader.columns("explain_models")["model"].tolist()]
    if models and asked.model not in models:
        raise UnknownNameError("model", asked.model, models)
    return None


def _find(reader: Reader, asked: Asked, span: tuple[datetime, datetime]) -> Found | None:
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
        return None if timeline is None else _given(timeline, start, end, source)
    around = asked.at
    low = max(first, (around or asked.now) - LOOKBACK - HISTORY)
    high = last + timedelta(seconds=1) if around is None else min(last + timedelta(seconds=1), around + LOOKBACK)
    step = step_for((high - low).total_seconds() / 8)
    timeline = _timeline(reader, asked, low, high, step, source)
    return None if timeline is None else _searched(timeline, around, source)


def _given(timeline: Timeline, start: datetime, end: datetime, source: str) -> Found | None:
    step = timeline.step_seconds
    first, last = int(start.timestamp() // step), int(-(-end.timestamp() // step))
    if last - first >= 0.6 * len(timeline.counts):
        return _searched(timeline, None, source, (first, last))
    baseline = baseline_for(timeline, first, last)
    if baseline is None:
        return None
    change = _change(timeline, baseline)
    total, bad = timeline.total, timeline.bad(baseline.threshold)
    spike = None
    if change.significant:
        low, high = max(first - 2 - timeline.first, 0), min(last - timeline.first, len(total))
        if high > low:
            spike = scan(total, bad, change.overdispersion, within=(low, high))
    onset = (first, first, first) if spike is None else _onset(timeline, spike.first, spike.onset_low, spike.onset_high)
    return Found(timeline, baseline, change, source, onset)


def _searched(
    timeline: Timeline, around: datetime | None, source: str, within: tuple[int, int] | None = None
) -> Found | None:
    """Find the most significant spike (around a moment); without one, judge the steps in question all the same."""
    everything = np.ones(len(timeline.counts), dtype=bool)
    threshold = threshold_of(timeline, everything)
    if threshold is None:
        return None
    total, bad = timeline.total, timeline.bad(threshold)
    calm = timeline.mask(calm_steps(timeline, everything, threshold))
    dispersion = overdispersion(total[calm], bad[calm])
    bounds = None
    if within is not None:
        bounds = max(within[0] - timeline.first, 0), min(within[1] - timeline.first, len(total))
    found = spikes(total, bad, dispersion, bounds)
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
    baseline = baseline_for(timeline, first, last)
    if baseline is None:
        return None
    change = _change(timeline, baseline)
    if spike is None:
        quiet = replace(change, significant=change.significant and around is not None)
        return Found(timeline, baseline, quiet, source, (first, first, first))
    return Found(timeline, baseline, change, source, _onset(timeline, spike.first, spike.onset_low, spike.onset_high))


def _onset(timeline: Timeline, best: int, low: int, high: int) -> tuple[int, int, int]:
    return timeline.first + best, timeline.first + low, timeline.first + high + 1


def _change(timeline: Timeline, baseline: Baseline) -> Change:
    total, bad = timeline.total, timeline.bad(baseline.threshold)
    before, during = timeline.mask(baseline.before), timeline.mask(baseline.during)
    return compare(
        (float(total[before].sum()), float(bad[before].sum())),
        (float(total[during].sum()), float(bad[during].sum())),
        overdispersion(total[before], bad[before]),
    )


def _timeline(reader: Reader, asked: Asked, low: datetime, high: datetime, step: int, source: str) -> Timeline | None:
    """Read the metric's history from `low`, with the same hours of yesterday and last week where they exist."""
    if source == "pages":
        name = METRICS[asked.metric]
        if name is None:
            return None
        rows = reader.columns("explain_edges", model=asked.model, histogram=name, low=low, high=high, step=step)
        edges = np.where(np.isnan(rows["edge_hi"].astype(np.float64)), np.inf, rows["edge_hi"].astype(np.float64))
        return timeline_of(rows["step"].astype(np.int64), edges, rows["count"].astype(np.float64), step)
    name = "explain_ratios" if asked.metric in RATIOS else "explain_values"
    rows = reader.columns(name, model=asked.model, metric=asked.metric, low=low, high=high, step=step)
    steps = rows["step"].astype(np.int64)
    if asked.metric in RATIOS:
        # Tokens of one request come and go together: a hundred stand for one event.
        total, bad = rows["total"].astype(np.float64) / 100, rows["bad"].astype(np.float64) / 100
        both = np.concatenate([steps, steps])
        edges = np.concatenate([np.zeros(len(steps)), np.full(len(steps), np.inf)])
        return timeline_of(both, edges, np.concatenate([total - bad, bad]), step)
    bins = rows["bin"].astype(np.float64)
    edges = np.where(
        bins >= FAILED_BIN, np.inf, np.where(bins <= ZERO_BIN, 0.0, VALUE_BASE ** np.clip(bins, -600, 600))
    )
    return timeline_of(steps, edges, rows["count"].astype(np.float64), step)


def _observe(reader: Reader, asked: Asked, found: Found) -> Observations:
    """Read everything that was recorded in the window and its baseline, reduced by SQL."""
    step, baseline = found.timeline.step_seconds, found.baseline
    start, end = _moment(int(baseline.during[0]), step), _moment(int(baseline.during[-1]) + 1, step)
    low, high = (
        _moment(int(min(baseline.before[0], baseline.during[0])), step),
        _moment(int(max(baseline.before[-1] + 1, baseline.during[-1] + 1)), step),
    )
    span = {"low": low, "high": high}
    of_model = {"model": asked.model, "step": step, **span}
    if found.source == "requests":
        cells = reader.columns(
            "explain_cells",
            metric=asked.metric,
            threshold=baseline.threshold,
            start=start,
            end=end,
            before=[int(value) for value in baseline.before],
            **of_model,
        )
    else:
        cells = _cells_from_pages(reader, asked, found, of_model)
    dimensions = DIMENSIONS + (EXTRA_DIMENSIONS if asked.metric in RATIOS else ())
    return Observations(
        metric=asked.metric,
        start=np.datetime64(start.replace(tzinfo=None), "us"),
        end=np.datetime64(end.replace(tzinfo=None), "us"),
        step_seconds=step,
        before_steps=baseline.before,
        during_steps=baseline.during,
        seconds_before=float(len(baseline.before) * step),
        seconds_during=float(len(baseline.during) * step),
        threshold=baseline.threshold,
        cells=cells,
        overdispersion=found.change.overdispersion,
        from_pages=found.source == "pages",
        usual_rate=baseline.usual_rate,
        dimensions=dimensions,
        engine=reader.columns("explain_engine", **of_model),
        gpus=reader.columns("explain_gpus", **of_model),
        gpu_events=reader.columns("explain_gpu_events", **span),
        hosts=reader.columns("explain_hosts", step=step, **span),
        signals=reader.columns("explain_signals", **of_model),
        instances=reader.columns("explain_instances", model=asked.model, **span),
        changes=reader.columns("explain_changes", model=asked.model, low=low - timedelta(hours=24), high=high),
        stalls=reader.columns("explain_stalls", model=asked.model, start=start, end=end, **span)
        if found.source == "requests"
        else {},
    )


def _cells_from_pages(reader: Reader, asked: Asked, found: Found, of_model: Mapping[str, object]) -> Columns:
    """Make cells (phase, instance) from scraped edges: counts only, as pages tell no tenant and no length."""
    name = METRICS[asked.metric]
    rows = reader.columns("explain_edges", histogram=name, **of_model)
    steps, count = rows["step"].astype(np.int64), rows["count"].astype(np.float64)
    high = np.where(np.isnan(rows["edge_hi"].astype(np.float64)), np.inf, rows["edge_hi"].astype(np.float64))
    bad = np.where(high > found.baseline.threshold * (1 + 1e-9), count, 0.0)
    during = np.isin(steps, found.baseline.during)
    kept = during | np.isin(steps, found.baseline.before)
    return {
        "phase": np.where(during, "during", "before").astype(object)[kept],
        "instance": rows["instance"][kept],
        "requests": count[kept],
        "events": count[kept],
        "bad": bad[kept],
        "bad_requests": bad[kept],
    }


def _moment(step: int, seconds: int) -> datetime:
    return datetime.fromtimestamp(step * seconds, UTC)


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _heads(asked: Asked, found: Found) -> dict[str, object]:
    """Return the keys that every answer about a window has."""
    timeline, baseline, change = found.timeline, found.baseline, found.change
    step = timeline.step_seconds
    before, during = timeline.mask(baseline.before), timeline.mask(baseline.during)
    return {
        "model": asked.model,
        "metric": asked.metric,
        "source": found.source,
        "window": {
            "from": _rfc3339(_moment(int(baseline.during[0]), step)),
            "to": _rfc3339(_moment(int(baseline.during[-1]) + 1, step)),
        },
        "baseline": {"parts": list(baseline.parts), "seconds": len(baseline.before) * step},
        "change": {
            "threshold": None if asked.metric in RATIOS else _finite(baseline.threshold),
            "bad_share_before": round(change.share_before, 6),
            "bad_share_during": round(change.share_during, 6),
            "excess_events": round(change.excess, 3),
            "z": round(change.z, 3),
            "overdispersion": round(change.overdispersion, 3),
            "p99_before": _finite(timeline.quantile(0.99, before)),
            "p99_during": _finite(timeline.quantile(0.99, during)),
        },
    }


def _answer(asked: Asked, found: Found, scene: Scene, diagnosis: Diagnosis) -> dict[str, object]:
    step = found.timeline.step_seconds
    onset, low, high = (_rfc3339(_moment(value, step)) for value in found.onset)
    stages, mixture = scene.stages, scene.mixture
    return {
        "verdict": diagnosis.verdict,
        "onset": onset,
        "onset_interval": [low, high],
        "stage": diagnosis.stage,
        "stage_source": None if stages is None else stages.source,
        "stage_seconds": {} if stages is None else {k: round(v, 6) for k, v in stages.seconds.items()},
        "change_kind": diagnosis.change_kind,
        "causes": [_cause(ranked) for ranked in diagnosis.causes],
        "missing": list(diagnosis.missing),
        "features": [round(value, 5) for value in diagnosis.features.vector()],
        "segments": [segment.as_json() for segment in (*scene.segments[:5], *scene.mix_segments[:3])],
        "mixture": {
            "mix": round(mixture.mix, 3),
            "within": round(mixture.within, 3),
            "volume": round(mixture.volume, 3),
            "volume_ratio": _finite(mixture.volume_ratio),
        },
        **_heads(asked, found),
    }


def _cause(ranked: Ranked) -> dict[str, object]:
    return {
        "cause": ranked.cause.id,
        "title": ranked.cause.title,
        "confidence": round(ranked.confidence, 4),
        "score": round(ranked.score, 4),
        "segment": ranked.finding.segment,
        "evidence": [item.as_json() for item in ranked.finding.evidence],
        "contra": [item.as_json() for item in ranked.finding.contra],
        "related_change": None if ranked.change is None else ranked.change.as_json(),
        "next_step": ranked.cause.next_step,
        "fix": ranked.cause.fix,
    }


def _quiet(asked: Asked, found: Found) -> dict[str, object]:
    return {**_empty(), **_heads(asked, found), "because": "bad events stayed within what the baseline makes likely"}


def _nothing(asked: Asked, because: str, missing: Sequence[str]) -> dict[str, object]:
    return {
        **_empty(),
        "model": asked.model,
        "metric": asked.metric,
        "missing": list(missing),
        "because": because,
    }


def _empty() -> dict[str, object]:
    return {
        "verdict": "no_significant_change",
        "onset": None,
        "stage": None,
        "change_kind": None,
        "causes": [],
        "missing": [],
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(f"{value:.6g}")

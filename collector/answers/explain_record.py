"""Reads what was recorded in a window and its baseline, reduced by SQL to steps and cells; judges nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import numpy as np

from analytics.rootcause import Observations
from analytics.rootcause.leaves import FloatArray, IntArray
from analytics.rootcause.observations import DIMENSIONS, EXTRA_DIMENSIONS
from collector.answers.explain_window import METRICS, RATIOS, Asked, Found, moment
from collector.store.reader import Columns, Reader

#: History that samples of engines, GPUs and hosts are compared with.
RECENT_SECONDS = 7200


def observe(reader: Reader, asked: Asked, found: Found) -> Observations:
    """Read everything that was recorded in the window and its baseline, reduced by SQL."""
    step, baseline = found.timeline.step_seconds, found.baseline
    start, end = moment(int(baseline.during[0]), step), moment(int(baseline.during[-1]) + 1, step)
    # Samples are read of the recent history only; requests also of the same time on earlier days.
    recent = baseline.before[baseline.before >= baseline.during[0] - RECENT_SECONDS // step]
    near = recent if len(recent) else baseline.before
    low = min(start, moment(int(near[0]), step))
    high = max(end, moment(int(near[-1]) + 1, step))
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
            day_low=start - timedelta(days=1),
            day_high=end - timedelta(days=1),
            week_low=start - timedelta(days=7),
            week_high=end - timedelta(days=7),
            **of_model,
        )
    else:
        cells = (_ratio_cells if asked.metric in RATIOS else _cells_from_pages)(reader, asked, found, of_model)
    if asked.rise:
        cells = {**cells, "bad": cells["events"].astype(np.float64) - cells["bad"].astype(np.float64)}
    dimensions = DIMENSIONS + (EXTRA_DIMENSIONS if asked.metric in RATIOS else ())
    return Observations(
        metric=asked.metric,
        start=np.datetime64(start.replace(tzinfo=None), "us"),
        end=np.datetime64(end.replace(tzinfo=None), "us"),
        step_seconds=step,
        before_steps=near,
        during_steps=baseline.during,
        seconds_before=float(len(baseline.before if found.source == "requests" else near) * step),
        seconds_during=float(len(baseline.during) * step),
        threshold=baseline.threshold,
        cells=cells,
        overdispersion=found.change.overdispersion,
        from_pages=found.source == "pages",
        usual_rate=baseline.usual_rate,
        arrivals_during=_arrivals(asked, found, baseline.during),
        arrivals_before=_arrivals(asked, found, baseline.before),
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
        positions=reader.columns("explain_positions", **of_model) if asked.metric == "acceptance" else {},
        rise=asked.rise,
    )


def _arrivals(asked: Asked, found: Found, steps: IntArray) -> FloatArray | None:
    """Return the requests that arrived in each of `steps`; pages and shares of tokens do not tell."""
    if found.source != "requests" or asked.metric in RATIOS:
        return None
    place = np.searchsorted(found.timeline.steps, steps)
    inside = place < len(found.timeline.steps)
    inside[inside] = found.timeline.steps[place[inside]] == steps[inside]
    counts = np.zeros(len(steps))
    counts[inside] = found.timeline.total[place[inside]]
    return counts


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


def _ratio_cells(reader: Reader, asked: Asked, found: Found, of_model: Mapping[str, object]) -> Columns:
    """Make cells (phase, instance) of a share of tokens from what engines counted, as pages tell no tenant."""
    rows = reader.columns("explain_page_ratios", metric=asked.metric, **of_model)
    steps, during = rows["step"].astype(np.int64), np.isin(rows["step"].astype(np.int64), found.baseline.during)
    kept = during | np.isin(steps, found.baseline.before)
    total, bad = (rows[name].astype(np.float64)[kept] for name in ("total", "bad"))
    whole, part = ("cached_of", "cached_tokens") if asked.metric == "kv_hit" else ("draft_tokens", "accepted_tokens")
    return {
        "phase": np.where(during, "during", "before").astype(object)[kept],
        "instance": rows["instance"][kept],
        "requests": np.full(len(total), np.nan),
        "events": total,
        "bad": bad,
        "bad_requests": np.full(len(total), np.nan),
        whole: total,
        part: total - bad,
    }


def premise(reader: Reader, asked: Asked, found: Found) -> tuple[float, float] | None:
    """Return (before, during) of output tokens per second, or of instance seconds per output token."""
    step, baseline = found.timeline.step_seconds, found.baseline
    low, high = int(min(baseline.before[0], baseline.during[0])), int(max(baseline.before[-1], baseline.during[-1])) + 1
    rows = reader.columns(
        "explain_output", model=asked.model, step=step, low=moment(low, step), high=moment(high, step)
    )
    steps, tokens = rows["step"].astype(np.int64), rows["tokens"].astype(np.float64)
    parts = []
    for chosen in (baseline.before, baseline.during):
        inside = np.isin(steps, chosen)
        made, seconds = float(np.nansum(tokens[inside])), float(len(chosen) * step)
        if made <= 0 or seconds <= 0:
            return None
        instances = float(np.nanmean(rows["instances"].astype(np.float64)[inside]))
        parts.append(made / seconds if asked.metric == "throughput" else instances * seconds / made)
    return parts[0], parts[1]

"""Answers why a model got slow: reads the record, asks analytics, says it as the contract does; stores nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from analytics.rootcause import Diagnosis, Scene, diagnose, localise
from analytics.rootcause.acceptance import drafting_of, splits_of
from analytics.rootcause.diagnosis import Ranked
from analytics.rootcause.leaves import COUNT_COLUMNS
from collector.answers.explain_record import observe, premise
from collector.answers.explain_window import METRICS, RATIOS, Asked, Found, find, moment
from collector.store.reader import Reader, as_datetime
from signals.errors import ConfigError, InputError, UnknownNameError

#: Metrics that are sought in slower requests, provided that the figure itself moved: tokens per second fell, or
#: instance seconds per token rose, by this much.
PREMISES = {"throughput": 0.9, "cost": 1.1}
FIGURES = {"throughput": "output tokens per second", "cost": "instance seconds per output token"}
QUIET = "bad events stayed within what the baseline makes likely"
ALIASES = {
    "itl": "tpot",
    "ttft_seconds": "ttft",
    "tpot_seconds": "tpot",
    "e2e_seconds": "e2e",
    "cache_hit": "kv_hit",
    "latency": "e2e",
}


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
    if start is not None and end is not None and start >= end:
        raise ConfigError("the window is empty", [f"from {start.isoformat()} is not before to {end.isoformat()}"])
    asked = Asked(model, _metric(metric), now, start, end, at)
    span = _span(reader, asked)
    if span is None:
        return _unknown(asked, "no requests and no pages of this model are stored", ("requests", "engine_samples"))
    found = find(reader, asked, span)
    if asked.metric == "acceptance" and (found is None or not found.change.significant):
        # Repeated text is easy to draft: acceptance that rises for no reason is a symptom as well.
        risen = find(reader, replace(asked, rise=True), span)
        if risen is not None and risen.change.significant:
            asked, found = replace(asked, rise=True), risen
    if found is None:
        return _unknown(asked, "too little was recorded to compare with", ("requests",))
    if not found.change.significant:
        return _quiet(asked, found)
    if asked.metric in PREMISES:
        moved = premise(reader, asked, found)
        if moved is None:
            return {
                **_unknown(asked, f"{FIGURES[asked.metric]} cannot be told", ("output_tokens",)),
                **_heads(asked, found),
            }
        limit = PREMISES[asked.metric]
        if (moved[1] - moved[0] * limit) * (limit - 1) <= 0:
            return _quiet(asked, found, f"{FIGURES[asked.metric]}: {moved[0]:.4g} before, {moved[1]:.4g} during")
    scene = Scene(observe(reader, asked, found))
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
            "from": _rfc3339(moment(int(baseline.during[0]), step)),
            "to": _rfc3339(moment(int(baseline.during[-1]) + 1, step)),
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
    onset, low, high = (_rfc3339(moment(value, step)) for value in found.onset)
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
        **(_acceptance(scene) if asked.metric == "acceptance" else {}),
        **_heads(asked, found),
    }


def _acceptance(scene: Scene) -> dict[str, object]:
    """Return what moved accepted drafts: their number, then each position, then who asked (mix) or how (within)."""
    drafting = drafting_of(scene)
    return {
        "direction": "rise" if scene.observations.rise else "drop",
        "drafting": None if drafting is None else drafting.as_json(),
        "splits": [split.as_json() for split in splits_of(scene)],
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


def _quiet(asked: Asked, found: Found, because: str = QUIET) -> dict[str, object]:
    return {**_empty("no_significant_change"), **_heads(asked, found), "because": because}


def _unknown(asked: Asked, because: str, missing: Sequence[str]) -> dict[str, object]:
    """Say that it cannot be told: what was not recorded is never a sign that nothing happened."""
    return {
        **_empty("inconclusive"),
        "model": asked.model,
        "metric": asked.metric,
        "missing": list(missing),
        "because": because,
    }


def _empty(verdict: str) -> dict[str, object]:
    return {
        "verdict": verdict,
        "onset": None,
        "stage": None,
        "change_kind": None,
        "causes": [],
        "missing": [],
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(f"{value:.6g}")

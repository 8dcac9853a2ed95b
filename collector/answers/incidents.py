"""Finds the incidents of the last hours for every model, each once; decides nothing about telling anybody."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import numpy as np

from collector.answers.explain import explain
from collector.store.reader import Columns, Reader, as_datetime

#: Metrics that are watched without being asked.
WATCHED = ("ttft", "tpot", "acceptance")
#: An incident that begins this close to a stored one of the same model and metric is the same one, seen again.
SAME_WITHIN = timedelta(minutes=10)
#: Still going on if its window ends this close to now.
OPEN_WITHIN = timedelta(minutes=3)
LOOKBACK = timedelta(hours=4)


def detect(reader: Reader, now: datetime) -> list[dict[str, object]]:
    """Return rows of the view `incidents`, one an incident, to be written over rows with the same id.

    An incident seen before keeps its id and its start, so that a job that runs every minute adds nothing twice.
    """
    models = [str(name) for name in reader.columns("explain_models")["model"].tolist()]
    stored = reader.columns("explain_incidents", low=now - LOOKBACK)
    found: dict[str, dict[str, object]] = {}
    for model in models:
        for metric in WATCHED:
            for at in (now, None):
                answer = explain(reader, now, model=model, metric=metric, at=at)
                if answer["verdict"] == "no_significant_change" or answer["onset"] is None:
                    continue
                row = _row(answer, model, metric, now, stored)
                found.setdefault(str(row["incident"]), row)
    return list(found.values())


def _row(answer: Mapping[str, object], model: str, metric: str, now: datetime, stored: Columns) -> dict[str, object]:
    started = datetime.fromisoformat(str(answer["onset"])).astimezone(UTC)
    window = answer["window"]
    assert isinstance(window, Mapping)
    until = datetime.fromisoformat(str(window["to"])).astimezone(UTC)
    known = _seen_before(stored, model, metric, started, until)
    causes = answer["causes"]
    assert isinstance(causes, list)
    first = causes[0] if causes and answer["verdict"] == "explained" else None
    return {
        "incident": known[0] if known else identity(model, metric, started),
        "model": model,
        "metric": metric,
        "started_at": known[1] if known else started,
        "ended_at": None if until >= now - OPEN_WITHIN else until,
        "stage": answer["stage"],
        "cause": None if first is None else first["cause"],
        "confidence": None if first is None else first["confidence"],
        "document": json.dumps(answer),
        "human_verdict": None,
        "human_note": None,
    }


def identity(model: str, metric: str, started: datetime) -> str:
    """Return the id of an incident: the same question and minute give the same id on every machine."""
    text = f"{model}|{metric}|{started.astimezone(UTC).strftime('%Y-%m-%dT%H:%M')}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _seen_before(
    stored: Columns, model: str, metric: str, started: datetime, until: datetime
) -> tuple[str, datetime] | None:
    """Return (id, start) of the stored incident that this one continues, None where it is new."""
    for index in range(len(stored["incident"])):
        if stored["model"][index] != model or stored["metric"][index] != metric:
            continue
        began = as_datetime(stored["started_at"][index])
        ended = stored["ended_at"][index]
        over = until if np.isnat(ended) else as_datetime(ended)
        if began - SAME_WITHIN <= until and started <= over + SAME_WITHIN:
            return str(stored["incident"][index]), began
    return None

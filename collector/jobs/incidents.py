"""Finds spikes in all models, keeps each as one incident, and lets a person's verdict stand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from collector.api.services import Services
from collector.sqlguard.formats import plain

COLUMNS = ("incident", "model", "metric", "started_at", "ended_at", "stage", "cause", "confidence")


def keep_incidents(parts: Services) -> None:
    """Detect now; a known incident is replaced, its human verdict kept."""
    from collector.answers.incidents import detect

    found = detect(parts.store.reader(), parts.clock())
    if not found:
        return
    rows = [_row(incident) for incident in found]
    names = [str(row["incident"]) for row in rows]
    kept = {str(row[0]): row[1:] for row in _verdicts(parts, names)}
    for row in rows:
        row["human_verdict"], row["human_note"] = kept.get(str(row["incident"]), (None, None))
    parts.store.run("collector.jobs", ["forget_incidents"], {"names": names})
    parts.store.append("incidents", rows)


def _verdicts(parts: Services, names: list[str]) -> list[tuple[object, object, object]]:
    cursor = parts.store.cursor()
    try:
        rows: list[tuple[object, object, object]] = cursor.execute(
            "select incident, human_verdict, human_note from incidents where incident in (select unnest($names))",
            {"names": names},
        ).fetchall()
        return rows
    finally:
        cursor.close()


def _row(incident: Mapping[str, object]) -> dict[str, object]:
    row: dict[str, object] = {name: incident.get(name) for name in COLUMNS}
    for name in ("started_at", "ended_at"):
        value = row[name]
        if isinstance(value, str):
            row[name] = datetime.fromisoformat(value.replace("Z", "+00:00"))
    document = incident.get("document")
    row["document"] = document if isinstance(document, str) else json.dumps(plain(dict(incident)))
    return row

"""Argo CD: an Application as its notifications or API give it; a finished sync is a release.

Argo CD's webhook bodies are templates of the operator; docs/how-to shows the one that sends `{"app": {{toJson .app}}}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from collector.receivers.changes.form import Change, Shape, mapping, placed, text, time_of


def _application(content: Mapping[str, object]) -> Mapping[str, object]:
    inner = mapping(content.get("app")) or mapping(content.get("application")) or content
    return inner if "status" in inner and ("spec" in inner or "metadata" in inner) else {}


def _knows(content: Mapping[str, object], headers: Mapping[str, str]) -> bool:
    del headers
    app = _application(content)
    kind = text(app.get("kind"))
    return bool(app) and (kind == "Application" or "sync" in mapping(app.get("status")))


def _read(content: Mapping[str, object], headers: Mapping[str, str], now: datetime) -> list[Change]:
    del headers
    app = _application(content)
    meta, status = mapping(app.get("metadata")), mapping(app.get("status"))
    operation = mapping(status.get("operationState"))
    sync = mapping(status.get("sync"))
    name = text(meta.get("name")) or "application"
    phase = text(operation.get("phase")) or text(sync.get("status")) or "unknown"
    revision = text(mapping(operation.get("syncResult")).get("revision")) or text(sync.get("revision")) or ""
    images = mapping(status.get("summary")).get("images")
    image = next((str(image) for image in images), "") if isinstance(images, list) else ""
    labels = {**mapping(meta.get("labels")), **mapping(meta.get("annotations"))}
    place = placed(labels)
    place.setdefault("pool", name)
    failed = phase in {"Failed", "Error"}
    message = text(operation.get("message")) or ""
    return [
        Change(
            time_of(operation.get("finishedAt") or operation.get("startedAt"), now),
            "fault" if failed else "release",
            " ".join(filter(None, [f"Argo CD sync of {name}: {phase}", revision[:12], image, message]))[:500],
            "argocd",
            f"{name}/{revision}/{phase}/{text(operation.get('finishedAt')) or ''}",
            **place,
        )
    ]


ARGOCD = Shape("argocd", _knows, _read)

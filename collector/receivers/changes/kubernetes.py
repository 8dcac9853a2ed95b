"""Kubernetes events (core/v1 or events.k8s.io, one or a list): what scaled, restarted, was evicted or failed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from collector.receivers.changes.form import Change, Shape, items, mapping, placed, text, time_of

#: Reasons and the kind of change they are; other reasons count only as warnings (fault).
REASONS: Mapping[str, str] = {
    "ScalingReplicaSet": "scale",
    "SuccessfulRescale": "scale",
    "SuccessfulCreate": "scale",
    "SuccessfulDelete": "scale",
    "Killing": "scale",
    "DeploymentRollback": "release",
    "Evicted": "fault",
    "OOMKilling": "fault",
    "NodeNotReady": "fault",
    "FailedScheduling": "fault",
    "BackOff": "fault",
    "Unhealthy": "fault",
    "Preempted": "fault",
}


def _knows(content: Mapping[str, object], headers: Mapping[str, str]) -> bool:
    del headers
    return text(content.get("kind")) in {"Event", "EventList"} or "involvedObject" in content


def _read(content: Mapping[str, object], headers: Mapping[str, str], now: datetime) -> list[Change]:
    del headers
    events = items(content.get("items")) if content.get("kind") == "EventList" else [content]
    return [change for event in events if (change := _one(event, now)) is not None]


def _one(event: Mapping[str, object], now: datetime) -> Change | None:
    about = mapping(event.get("involvedObject")) or mapping(event.get("regarding"))
    meta = mapping(event.get("metadata"))
    reason = text(event.get("reason")) or "Event"
    kind = REASONS.get(reason) or ("fault" if text(event.get("type")) == "Warning" else None)
    if kind is None:
        return None
    told = text(event.get("message")) or text(event.get("note")) or ""
    name = text(about.get("name")) or ""
    object_kind = text(about.get("kind")) or "object"
    place = placed({**mapping(meta.get("labels")), **mapping(about.get("labels")), **mapping(about.get("annotations"))})
    place.setdefault("instance" if object_kind == "Pod" else "pool", name)
    stamp = event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp")
    identity = text(meta.get("uid")) or f"{object_kind}/{name}/{reason}"
    return Change(
        time_of(stamp or meta.get("creationTimestamp"), now),
        kind,
        f"{reason} {object_kind} {name}: {told}"[:500],
        "kubernetes",
        f"{identity}/{text(event.get('count')) or '1'}",
        **{column: word for column, word in place.items() if word},
    )


KUBERNETES = Shape("kubernetes", _knows, _read)

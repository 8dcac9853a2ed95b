"""GitHub webhooks: deployment_status (a finished deployment is a release), deployment, and release."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from collector.receivers.changes.form import Change, Shape, mapping, placed, text, time_of

EVENTS = ("deployment", "deployment_status", "release")
#: States of a deployment that change nothing yet.
UNFINISHED = frozenset({"pending", "queued", "in_progress", "waiting"})


def _knows(content: Mapping[str, object], headers: Mapping[str, str]) -> bool:
    if headers.get("x-github-event"):
        return True
    return "repository" in content and ("deployment" in content or "release" in content)


def _read(content: Mapping[str, object], headers: Mapping[str, str], now: datetime) -> list[Change]:
    event = headers.get("x-github-event", "")
    if event and event not in EVENTS:
        return []
    repository = text(mapping(content.get("repository")).get("full_name")) or "repository"
    release = mapping(content.get("release"))
    if release:
        return _release(content, release, repository, now)
    deployment, status = mapping(content.get("deployment")), mapping(content.get("deployment_status"))
    state = text(status.get("state"))
    if not status or state in UNFINISHED:
        return []
    payload = mapping(deployment.get("payload"))
    place = placed(payload)
    place.setdefault("model_version", (text(deployment.get("sha")) or "")[:12])
    environment = text(deployment.get("environment")) or ""
    told = text(status.get("description")) or text(deployment.get("description")) or ""
    reference = text(deployment.get("ref")) or ""
    return [
        Change(
            time_of(status.get("updated_at") or status.get("created_at"), now),
            "release" if state in {"success", "inactive"} else "fault",
            " ".join(filter(None, [f"deployment of {repository} to {environment}: {state}", reference, told]))[:500],
            "github",
            f"{repository}/{text(deployment.get('id')) or ''}/{state}",
            **{name: word for name, word in place.items() if word},
        )
    ]


def _release(
    content: Mapping[str, object], release: Mapping[str, object], repository: str, now: datetime
) -> list[Change]:
    if text(content.get("action")) not in {"published", "released", None}:
        return []
    tag = text(release.get("tag_name")) or ""
    return [
        Change(
            time_of(release.get("published_at"), now),
            "release",
            f"{repository} {tag} published",
            "github",
            f"{repository}/release/{tag}",
            model_version=tag or None,
        )
    ]


GITHUB = Shape("github", _knows, _read)

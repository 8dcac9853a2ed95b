"""Webhooks of known shapes become changes; what is unknown is named."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from collector.receivers.changes.form import Change
from collector.receivers.changes.registry import SHAPES, change_batch, read_changes
from signals.errors import InputError, PayloadError

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
AT = "2026-05-01T11:00:00Z"
BODIES: dict[str, tuple[dict[str, str], dict[str, object], tuple[str, str]]] = {
    "plain": (
        {},
        {"kind": "release", "summary": "v2 everywhere", "model": "m", "ts": AT},
        ("release", "v2 everywhere"),
    ),
    "alertmanager": (
        {},
        {
            "version": "4",
            "groupKey": "{}",
            "alerts": [
                {
                    "status": "firing",
                    "labels": {"alertname": "GpuLost", "model_name": "m"},
                    "annotations": {"summary": "one GPU is gone"},
                    "startsAt": AT,
                    "fingerprint": "ab",
                }
            ],
        },
        ("fault", "GpuLost: one GPU is gone"),
    ),
    "argocd": (
        {},
        {
            "app": {
                "kind": "Application",
                "metadata": {"name": "chat", "annotations": {"sloscope.io/model": "m"}},
                "spec": {},
                "status": {
                    "operationState": {"phase": "Succeeded", "finishedAt": AT, "syncResult": {"revision": "abc123"}},
                    "sync": {"status": "Synced", "revision": "abc123"},
                    "summary": {"images": ["registry/vllm:0.32"]},
                },
            }
        },
        ("release", "Argo CD sync of chat: Succeeded abc123 registry/vllm:0.32"),
    ),
    "github": (
        {"x-github-event": "deployment_status"},
        {
            "repository": {"full_name": "ops/serving"},
            "deployment": {"id": 7, "sha": "0123456789abcdef", "environment": "prod", "payload": {"model": "m"}},
            "deployment_status": {"state": "success", "updated_at": AT},
        },
        ("release", "deployment of ops/serving to prod: success"),
    ),
    "kubernetes": (
        {},
        {
            "kind": "Event",
            "reason": "ScalingReplicaSet",
            "message": "Scaled up to 4",
            "involvedObject": {"kind": "Deployment", "name": "chat", "labels": {"model": "m"}},
            "metadata": {"uid": "u1"},
            "lastTimestamp": AT,
        },
        ("scale", "ScalingReplicaSet Deployment chat: Scaled up to 4"),
    ),
}


def read(name: str) -> list[Change]:
    headers, content, _ = BODIES[name]
    return read_changes(json.dumps(content).encode(), headers, NOW)


def test_every_shape_has_a_body_here() -> None:
    assert set(BODIES) == set(SHAPES)


@pytest.mark.parametrize("name", BODIES)
def test_a_body_becomes_its_change(name: str) -> None:
    (change,) = read(name)
    assert (change.kind, change.summary) == BODIES[name][2]
    assert (change.ts, change.model) == (datetime(2026, 5, 1, 11, tzinfo=UTC), "m")


@pytest.mark.parametrize("name", BODIES)
def test_a_body_without_most_fields_breaks_nothing(name: str) -> None:
    headers, content, _ = BODIES[name]
    for key in content:
        thinner = {other: value for other, value in content.items() if other != key}
        for body in (thinner, {**content, key: None}, {**content, key: []}, {**content, key: {}}, {**content, key: 3}):
            try:
                read_changes(json.dumps(body).encode(), headers, NOW)
            except InputError:
                continue


def test_a_deployment_that_runs_still_is_no_change_yet() -> None:
    headers, content, _ = BODIES["github"]
    body = json.dumps({**content, "deployment_status": {"state": "in_progress"}}).encode()
    assert read_changes(body, headers, NOW) == []


def test_a_list_of_plain_changes_is_taken() -> None:
    body = json.dumps([{"kind": "note", "summary": "a"}, {"kind": "note", "summary": "b"}]).encode()
    assert [change.summary for change in read_changes(body, {}, NOW)] == ["a", "b"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"kind": "releas", "summary": "x"}', "did you mean 'release'"),
        (b'{"kind": "release", "summary": "x", "modle": "m"}', "did you mean 'model'"),
        (b'{"kind": "release", "summary": ""}', "summary"),
        (b'{"kind": "release", "summary": "x", "ts": "yesterday"}', "RFC 3339"),
        (b'{"hello": 1}', "no known shape"),
    ],
)
def test_what_is_wrong_is_named(body: bytes, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_changes(body, {}, NOW)


@pytest.mark.parametrize("body", [b"", b"[", b"3", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(PayloadError):
        read_changes(body, {}, NOW)


def test_the_same_body_is_the_same_batch() -> None:
    first, second = (change_batch(read("plain"), b"body", "api") for _ in range(2))
    assert first.identity == second.identity
    assert first.table.column("summary").to_pylist() == ["v2 everywhere"]

"""Every shape of change by name, which one a body has, and its changes as a batch of the view `changes`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime

import pyarrow as pa

from collector.receivers.changes.alertmanager import ALERTMANAGER
from collector.receivers.changes.argocd import ARGOCD
from collector.receivers.changes.form import Change, Shape
from collector.receivers.changes.github import GITHUB
from collector.receivers.changes.kubernetes import KUBERNETES
from collector.receivers.changes.plain import PLAIN
from collector.store.batch import TableBatch
from signals.errors import InputError, PayloadError
from signals.records import Identity

#: In the order of recognition: the ones with the most telling marks first.
SHAPES: dict[str, Shape] = {shape.name: shape for shape in (ALERTMANAGER, KUBERNETES, GITHUB, ARGOCD, PLAIN)}


def read_changes(body: bytes, headers: Mapping[str, str], now: datetime) -> list[Change]:
    """Return the changes of a JSON body in any known shape; InputError when none is known."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise PayloadError(f"body of {len(body)} bytes is no JSON: {error}") from error
    if isinstance(content, list):
        content = {"changes": content}
    if not isinstance(content, dict):
        raise PayloadError(f"body is a JSON {type(content).__name__}; expected an object or a list")
    for shape in SHAPES.values():
        if shape.knows(content, headers):
            return shape.read(content, headers, now)
    raise InputError(
        f"no known shape of change ({', '.join(SHAPES)}); plain ones are "
        '{"kind": "release", "summary": "...", "model"?: "..."}'
    )


def change_batch(changes: Sequence[Change], body: bytes, sender: str) -> TableBatch:
    """Return changes as rows; a body that is delivered again is known by its content."""
    columns = {
        item.name: pa.array(
            [getattr(change, item.name) for change in changes],
            type=pa.timestamp("us", "UTC") if item.name == "ts" else pa.string(),
        )
        for item in fields(Change)
    }
    return TableBatch(Identity(f"changes:{sender}", hashlib.sha256(body).hexdigest(), 0), "changes", pa.table(columns))

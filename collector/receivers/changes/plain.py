"""Our own shape: one object or a list in the columns of the view `changes`, as curl and scripts send it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from collector.receivers.changes.form import KINDS, MAX_SUMMARY, Change, Shape, items, text, time_of
from signals.errors import InputError, nearest
from signals.views import VIEWS

_COLUMNS = VIEWS["changes"].column_names()


def _knows(content: Mapping[str, object], headers: Mapping[str, str]) -> bool:
    del headers
    return "changes" in content or ("summary" in content and "kind" in content)


def _read(content: Mapping[str, object], headers: Mapping[str, str], now: datetime) -> list[Change]:
    del headers
    return [_one(item, now) for item in (items(content["changes"]) if "changes" in content else [content])]


def _one(item: Mapping[str, object], now: datetime) -> Change:
    for name in item:
        if name not in _COLUMNS:
            raise InputError(f"unknown column {name!r} of changes{nearest(name, _COLUMNS)}", column=name)
    kind = text(item.get("kind")) or ""
    if kind not in KINDS:
        raise InputError(f"unknown kind of change {kind!r}{nearest(kind, KINDS)}", column="kind")
    summary = text(item.get("summary"))
    if summary is None:
        raise InputError("a change needs a summary", column="summary")
    rest = {name: text(item.get(name)) for name in _COLUMNS if name not in {"ts", "kind", "summary"}}
    return Change(
        time_of(item.get("ts"), now), kind, summary[:MAX_SUMMARY], **{**rest, "source": rest["source"] or "api"}
    )


PLAIN = Shape("plain", _knows, _read)

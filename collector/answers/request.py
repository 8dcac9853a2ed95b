"""Tells the story of one request: its timeline, its instance at that time, and its peers in the same minute."""

from __future__ import annotations

from datetime import datetime

from collector.answers.timeline import rows_of
from collector.store.reader import Reader
from signals.errors import UnknownNameError

#: Stages of a request in the order in which they happen, with the column that holds their seconds.
STAGES = (
    ("gateway", "gateway_seconds"),
    ("queue", "queue_seconds"),
    ("prefill", "prefill_seconds"),
    ("transfer", "transfer_seconds"),
    ("decode", "decode_seconds"),
)


def request(reader: Reader, _now: datetime, *, request_id: str) -> dict[str, object]:
    """Return the request of that id or trace id with timeline, instance and peers; UnknownNameError for no such id."""
    found = reader.columns("request_one", request_id=request_id)
    if len(found["ts"]) == 0:
        near = reader.columns("request_near", request_id=request_id)
        raise UnknownNameError("request", request_id, [str(name) for name in near["request_id"]])
    row = rows_of(found)[0]
    around = {"at": row["ts"], "instance": row["instance"]}
    instance = rows_of(reader.columns("request_instance", **around))
    peers = rows_of(reader.columns("request_peers", at=around["at"], model=row["model"], request_id=row["request_id"]))
    return {
        "request": row,
        "timeline": _timeline(row),
        "instance": instance,
        "peers": peers[0] if peers else None,
        "trace_id": row["trace_id"],
        "others": len(found["ts"]) - 1,
    }


def _timeline(row: dict[str, object]) -> list[dict[str, object]]:
    """Return the stages that are known, each from the end of the last one; the unexplained rest of TTFT is named."""
    known = [(stage, _seconds(row, column)) for stage, column in STAGES]
    before_token = [(stage, seconds) for stage, seconds in known if stage != "decode" and seconds is not None]
    ttft, explained = _seconds(row, "ttft_seconds"), sum(seconds for _, seconds in before_token)
    if ttft is not None and ttft > explained + 1e-9:
        before_token.append(("other", ttft - explained))
    steps: list[dict[str, object]] = []
    reached = 0.0
    for stage, seconds in (*before_token, known[-1]):
        if seconds is not None:
            steps.append({"stage": stage, "start_seconds": reached, "seconds": seconds})
            reached += seconds
    return steps


def _seconds(row: dict[str, object], column: str) -> float | None:
    value = row.get(column)
    return value if isinstance(value, float) else None

"""Phases of cold starts through the real store: lives from agents, spans from engines, gauges from pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.answers.scale import scale
from collector.cli.main import main
from collector.receivers.startup import startup_batch
from collector.store.batch import Batch
from collector.store.store import Store
from signals.records import HostRows, Identity
from signals.spans import Span

START = datetime(2026, 3, 4, 8, tzinfo=UTC)
SPANS = (("Overall Loading", 12, 95), ("Load model", 20, 60), ("Prepare model", 62, 92), ("Compile graph", 64, 84))


def seconds(offset: float) -> int:
    return round((START.timestamp() + offset) * 1e9)


def life(number: int, began: float, ready: float | None) -> Batch:
    row: dict[str, object] = {"instance": f"i{number}", "model": "llama", "started_at": START.timestamp() + began}
    if ready is not None:
        row["ready_at"] = START.timestamp() + ready
    return HostRows(Identity("agent", "lives", number), "h", seconds(ready or began), None, {"instances": (row,)})


def spans(number: int, began: float, name: str | None = None) -> Batch:
    told = [
        Span(what, "t", f"s{k}", "", seconds(began + begin), seconds(began + end),
             resource={"sloscope.instance": name or f"i{number}"})
        for k, (what, begin, end) in enumerate(SPANS)
    ]  # fmt: skip
    batch = startup_batch(Identity("agent", "spans", number), told)
    assert batch is not None
    return batch


def pages(store: Store, instance: str, count: int = 40) -> datetime:
    times = [START + timedelta(seconds=200 + 15 * k) for k in range(count)]
    store.append("engine_samples", [
        {"ts": ts, "interval_seconds": 15.0, "instance": instance, "model": "llama", "role": "both",
         "engine": "vllm", "scrape_state": "ok", "first_tokens": 30.0, "queue_depth": 0.0, "running": 4.0}
        for ts in times
    ])  # fmt: skip
    return times[-1]


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(None) as opened:
        yield opened


def found(store: Store, now: datetime) -> dict[str, object]:
    entries = scale(store.reader(), now)["recommendations"]
    assert isinstance(entries, list)
    (entry,) = entries
    json.dumps(entry, allow_nan=False)
    cold_start = entry["cold_start"]
    assert isinstance(cold_start, dict)
    assert cold_start["p95_seconds"] == entry["cold_start_seconds"]
    return cold_start


def test_spans_and_lives_give_the_phases_of_a_cold_start(store: Store) -> None:
    for number, began in enumerate((0.0, 10.0, 20.0)):
        store.commit([life(number, began, began + 100 + number), spans(number, began)])
    answer = found(store, pages(store, "i0"))
    assert (answer["p50_seconds"], answer["lives"]) == (101.0, 3)
    assert answer["phases"] == {"schedule": None, "pull": None, "process_start": 12.0, "load": 40.0,
                                "compile": 20.0, "warm_up": 10.0}  # fmt: skip


def test_lives_without_spans_have_a_length_and_no_phases(store: Store) -> None:
    store.commit([life(0, 0.0, 90.0)])
    answer = found(store, pages(store, "i0"))
    assert answer["p50_seconds"] == 90.0
    assert set(dict(answer["phases"]).values()) == {None}  # type: ignore[call-overload]


def test_a_restart_is_not_added_to_the_start_before(store: Store) -> None:
    store.commit([life(0, 0.0, 100.0), spans(0, 0.0)])
    later = HostRows(
        Identity("agent", "lives", 7), "h", seconds(400), None,
        {"instances": ({"instance": "i0", "model": "llama", "started_at": START.timestamp() + 300},)},
    )  # fmt: skip
    store.commit([later, spans(7, 300.0, "i0")])
    assert dict(found(store, pages(store, "i0"))["phases"])["load"] == 40.0  # type: ignore[call-overload]


def test_a_gauge_on_every_page_is_one_start_and_early_phases_belong_to_the_process_that_follows(store: Store) -> None:
    store.commit([life(0, 0.0, 100.0)])
    now = pages(store, "i0")

    def told(offset: float, phase: str, value: float) -> dict[str, object]:
        return {"ts": START + timedelta(seconds=offset), "instance": "i0", "model": "llama",
                "signal": "startup_phase_seconds", "attributes": {"phase": phase}, "value": value}  # fmt: skip

    rows = [told(200 + 15 * k, "load_weight", 33.0) for k in range(20)] + [told(200, "e2e", 80.0)]
    store.append("signal_samples", [*rows, told(-40, "schedule", 0.0), told(-5, "pull", 35.0)])
    phases = found(store, now)["phases"]
    assert phases == {"schedule": 0.0, "pull": 35.0, "process_start": None, "load": 33.0, "compile": None,
                      "warm_up": None}  # fmt: skip


def test_spans_that_name_the_engine_by_its_other_name_are_its_own(store: Store) -> None:
    store.append("instance_aliases", [{"alias": "uuid-1", "instance": "i0"}])
    store.commit([life(0, 0.0, 100.0), spans(0, 0.0, "uuid-1")])
    assert dict(found(store, pages(store, "i0"))["phases"])["compile"] == 20.0  # type: ignore[call-overload]


def test_the_table_names_the_phases_and_what_was_not_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "s.duckdb"
    with Store.open(db) as opened:
        opened.commit([life(0, 0.0, 100.0), spans(0, 0.0)])
        pages(opened, "i0")
    assert main(["scale", "--db", str(db)]) in (0, 3)
    assert (
        "cold start P95 100 s (measured on 1 start-ups): process_start 12 s, load 40 s, compile 20 s, warm_up 10 s; "
        "not seen: schedule, pull"
    ) in capsys.readouterr().out

"""Capacity at the lengths of the horizon, through the real store: requests by bucket, pages by instance."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from collector.answers.scale import scale
from collector.store.batch import TableBatch
from collector.store.store import Store
from signals.records import Identity

START = datetime(2026, 3, 4, 8, tzinfo=UTC)
MINUTES = 40
SAME = {"model": "llama", "instance": "i0", "ttft_seconds": 0.4, "status": "ok", "source": "engine"}


Rows = list[dict[str, object]]


@dataclass
class Run:
    """What one instance served, minute by minute."""

    pages: Rows = field(default_factory=list)
    requests: Rows = field(default_factory=list)

    def minute(self, minute: int, *groups: tuple[int, int | None]) -> None:
        """Add a minute of pages, and of requests as (count, input tokens)."""
        served = sum(count for count, _ in groups)
        self.pages += [
            {"ts": START + timedelta(seconds=60 * minute + 15 * k), "interval_seconds": 15.0, "instance": "i0",
             "model": "llama", "role": "both", "engine": "vllm", "scrape_state": "ok", "first_tokens": served / 4,
             "queue_depth": 6.0, "running": 8.0, "prompt_tokens": 125.0 * served, "generation_tokens": 25.0 * served}
            for k in range(1, 5)
        ]  # fmt: skip
        for count, tokens in groups:
            times = [START + timedelta(seconds=60 * minute + 60 * (k + 0.5) / count) for k in range(count)]
            self.requests += [
                {"ts": at, "first_token_at": at, "finished_at": at + timedelta(seconds=2), "input_tokens": tokens,
                 "request_id": f"{minute}-{tokens}-{k}", "output_tokens": 100, **SAME}
                for k, at in enumerate(times)
            ]  # fmt: skip

    def capacity(self) -> dict[str, object]:
        """Return the capacity in the recommendation that the store gives."""
        table = pa.Table.from_pylist(self.requests)
        tokens = table.column("input_tokens").cast(pa.int64())
        table = table.set_column(table.schema.get_field_index("input_tokens"), "input_tokens", tokens)
        with Store.open(None) as store:
            store.append("engine_samples", self.pages)
            store.commit([TableBatch(Identity("import:requests", "e", 1), "requests", table)])
            entries = scale(store.reader(), START + timedelta(minutes=MINUTES))["recommendations"]
        assert isinstance(entries, list)
        (entry,) = entries
        json.dumps(entry, allow_nan=False)
        return dict(entry["capacity_per_instance"])


def run(of_minute: Callable[[int], Sequence[tuple[int, int | None]]]) -> dict[str, object]:
    found = Run()
    for minute in range(MINUTES):
        found.minute(minute, *of_minute(minute))
    return found.capacity()


def by_length(found: dict[str, object]) -> dict[str, object]:
    lengths = found["by_length"]
    assert isinstance(lengths, dict)
    return lengths


def test_a_steady_mix_is_told_and_changes_nothing() -> None:
    found = by_length(run(lambda _: [(10, 500), (2, 9000)]))
    assert found["applied"] is False and found["factor"] == 1.0
    told = found["buckets"]
    assert isinstance(told, list)
    assert [one["length_bucket"] for one in told] == ["0-1k", "4k-16k"]
    assert [one["learned_share"] for one in told] == pytest.approx([10 / 12, 2 / 12], abs=0.02)
    assert told[1]["seconds_per_request"] > 5 * told[0]["seconds_per_request"]


def test_a_mix_that_gets_longer_lowers_capacity_at_the_horizon() -> None:
    found = run(lambda minute: [(200, 500), (8 * max(0, minute - MINUTES + 10), 9000)])
    lengths = by_length(found)
    assert lengths["applied"] is True
    assert 0.5 < float(str(lengths["factor"])) < 0.9
    told = lengths["buckets"]
    assert isinstance(told, list)
    assert told[1]["horizon_share"] > told[1]["learned_share"]
    assert "lengths at the horizon" in str(lengths["because"])


def test_requests_without_lengths_leave_the_pool_wide_capacity_and_say_so() -> None:
    found = by_length(run(lambda _: [(12, None)]))
    assert (found["applied"], found["because"]) == (False, "pool-wide: no lengths of requests are known")


def test_too_few_of_a_bucket_leave_the_pool_wide_capacity() -> None:
    found = by_length(run(lambda minute: [(10, 500), (20 if minute == MINUTES - 3 else 0, 9000)]))
    assert found["because"] == "pool-wide: fewer than 30 requests in 4k-16k"

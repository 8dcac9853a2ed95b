"""Fills a test store with pools under load: instances scraped every 15 s, with requests where asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np
import pyarrow as pa

from collector.store.reader import DuckReader
from tests.support.public_store import public_store

START = datetime(2026, 3, 4, 8, tzinfo=UTC)


class Store:
    """A store and the reader that answers use."""

    def __init__(self) -> None:
        self.connection: duckdb.DuckDBPyConnection = public_store()
        self.reader = DuckReader(self.connection)

    def insert(self, view: str, **row: object) -> None:
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        self.connection.execute(f"insert into {view} ({names}) values ({marks})", list(row.values()))

    def bulk(self, view: str, names: list[str], rows: list[tuple[object, ...]]) -> None:
        """Insert many rows at once (row by row is a hundred times slower)."""
        table = pa.table({name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)})
        self.connection.register("bulk", table)
        self.connection.execute(f"insert into {view} ({', '.join(names)}) select {', '.join(names)} from bulk")
        self.connection.unregister("bulk")

    def scrapes(
        self,
        instance: str,
        rate: float,
        minutes: float = 30,
        model: str = "llama",
        start: datetime = START,
        queue: float = 0.0,
        state: str = "ok",
        **extra: object,
    ) -> datetime:
        """Add scrapes of an instance that serves `rate` requests per second; return the time of the last one."""
        steps = int(minutes * 4)
        rows = []
        for k in range(steps):
            at = start + timedelta(seconds=15 * (k + 1))
            good = state == "ok"
            tokens = rate * 15
            figures = (queue, rate * 2, 0.4, tokens, tokens * 500, tokens * 100) if good else (None,) * 6
            rows.append((at, 15.0, instance, model, "both", state, *figures, *extra.values()))
        names = ["ts", "interval_seconds", "instance", "model", "role", "scrape_state", "queue_depth", "running",
                 "kv_usage_ratio", "first_tokens", "prompt_tokens", "generation_tokens", *extra]  # fmt: skip
        self.bulk("engine_samples", names, rows)
        return start + timedelta(seconds=15 * steps)

    def requests(self, instance: str, rate: float, ttft: float, minutes: float = 30, model: str = "llama") -> None:
        count = int(rate * minutes * 60)
        offsets = np.linspace(0, minutes * 60 - 1, count)
        when = [(START + timedelta(seconds=s), timedelta(seconds=ttft)) for s in offsets.tolist()]
        rows = [
            (at, at + first, at + first + timedelta(seconds=2),
             f"{instance}-{k}", model, instance, 500, 100, ttft, ttft + 2, ttft + 2, "ok", "engine")
            for k, (at, first) in enumerate(when)
        ]  # fmt: skip
        names = ["ts", "first_token_at", "finished_at", "request_id", "model", "instance", "input_tokens",
                 "output_tokens", "ttft_seconds", "e2e_seconds", "engine_e2e_seconds", "status", "source"]  # fmt: skip
        self.bulk("requests", names, rows)

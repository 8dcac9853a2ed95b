"""Reads a recorded run into public tables through the dialects, for tests of objectives; no strict parser."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import duckdb
import pyarrow as pa
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from signals.dialects.reader import PageReader
from signals.dialects.registry import detect
from signals.lengths import length_bucket
from signals.pages import PageParser
from signals.readings import advance

Row = dict[str, object]


def load_run(connection: duckdb.DuckDBPyConnection, pages: Path, spans: Path | None, model: str = "tiny-llama") -> None:
    """Fill engine_samples and engine_bins from pages, and requests from spans where given."""
    samples, bins = _page_rows(pages, model)
    _insert(connection, "engine_samples", samples)
    _insert(connection, "engine_bins", bins)
    if spans is not None:
        _insert(connection, "requests", _request_rows(spans, model))


def _page_rows(pages: Path, model: str) -> tuple[list[Row], list[Row]]:
    parser, state, reader = PageParser(), None, None
    samples: list[Row] = []
    bins: list[Row] = []
    for line in (pages / "index.jsonl").read_text().splitlines():
        entry = json.loads(line)
        page = parser.parse((pages / f"{entry['n']:04d}.txt").read_text())
        if reader is None:
            dialect = detect(page.layout)
            assert dialect is not None
            reader = PageReader(dialect)
        state, increments = advance(state, reader.read(page))
        at = {"ts": datetime.fromtimestamp(entry["t"], UTC), "instance": pages.name, "model": model}
        values = dict(chain.from_iterable((*one.gauges.items(), *one.counters.items()) for one in increments))
        samples.append(
            {
                **at,
                "scrape_state": "ok",
                **{name: values.get((name, ())) for name in ("first_tokens", "finished", "running", "rejected")},
            }
        )
        for found in chain.from_iterable(one.histograms for one in increments):
            edges = (*found.edges, None)
            bins += [
                {**at, "interval_seconds": 2.0, "metric": found.signal, "edge_lo": low, "edge_hi": high, "count": count}
                for low, high, count in zip((0.0, *found.edges), edges, found.counts, strict=True)
                if count and found.signal == "ttft_seconds"
            ]
    return samples, bins


def _request_rows(spans: Path, model: str) -> list[Row]:
    rows: list[Row] = []
    for path in sorted(spans.glob("*.bin")):
        body = ExportTraceServiceRequest.FromString(path.read_bytes())
        for span in chain.from_iterable(scope.spans for one in body.resource_spans for scope in one.scope_spans):
            if span.name != "llm_request":
                continue
            have = {pair.key: pair.value.double_value or pair.value.int_value for pair in span.attributes}
            start = datetime.fromtimestamp(span.start_time_unix_nano / 1e9, UTC)
            ttft, e2e = have["gen_ai.latency.time_to_first_token"], have["gen_ai.latency.e2e"]
            rows.append(
                {
                    "ts": start,
                    "first_token_at": start + timedelta(seconds=ttft),
                    "finished_at": start + timedelta(seconds=e2e),
                    "request_id": str(len(rows)),
                    "model": model,
                    "status": "ok",
                    "source": "engine",
                    "ttft_seconds": ttft,
                    "e2e_seconds": e2e,
                    "length_bucket": length_bucket(int(have["gen_ai.usage.prompt_tokens"])),
                }
            )
    return rows


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: list[Row]) -> None:
    found = pa.Table.from_pylist(rows)
    connection.register("rows", found)
    names = ", ".join(found.column_names)
    connection.execute(f"insert into {table} ({names}) select {names} from rows").fetchall()
    connection.unregister("rows")

"""Reads a recorded vLLM run (pages and spans) into public tables for tests; the product's importer is another thing."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from signals.lengths import length_bucket

Rows = dict[str, list[dict[str, object]]]
GAUGES = {
    "vllm:num_requests_waiting": "queue_depth",
    "vllm:num_requests_running": "running",
    "vllm:kv_cache_usage_perc": "kv_usage_ratio",
}
COUNTERS = {
    "vllm:prompt_tokens_total": "prompt_tokens",
    "vllm:generation_tokens_total": "generation_tokens",
    "vllm:prefix_cache_queries_total": "prefix_query_tokens",
    "vllm:prefix_cache_hits_total": "prefix_hit_tokens",
    "vllm:num_preemptions_total": "preemptions",
    "vllm:iteration_tokens_total_count": "steps",
    "vllm:iteration_tokens_total_sum": "step_tokens",
    "vllm:time_to_first_token_seconds_count": "first_tokens",
    "vllm:request_success_total": "finished",
    "vllm:request_queue_time_seconds_sum": "queue_seconds_sum",
    "vllm:request_prefill_time_seconds_sum": "prefill_seconds_sum",
    "vllm:spec_decode_num_drafts_total": "spec_drafts",
    "vllm:spec_decode_num_draft_tokens_total": "spec_draft_tokens",
    "vllm:spec_decode_num_accepted_tokens_total": "spec_accepted_tokens",
}
TTFT = "vllm:time_to_first_token_seconds_bucket"


def load(connection: duckdb.DuckDBPyConnection, pages: Path, spans: Path | None, model: str = "tiny-llama") -> datetime:
    """Fill engine_samples, engine_bins and (with spans) requests; return the time of the first page."""
    index = [json.loads(line) for line in (pages / "index.jsonl").read_text().splitlines()]
    rows: Rows = {}
    _load_pages(rows, pages, index, model)
    if spans is not None:
        _load_spans(rows, spans, model, pages.name)
    _write(connection, rows)
    return datetime.fromtimestamp(index[0]["t"], UTC)


def at(start: datetime, seconds: float) -> datetime:
    return start + timedelta(seconds=seconds)


def _load_pages(rows: Rows, pages: Path, index: list[dict[str, float]], model: str) -> None:
    before: dict[str, float] = {}
    bins_before: dict[float, float] = {}
    last = 0.0
    for entry in index:
        text = (pages / f"{int(entry['n']):04d}.txt").read_text()
        gauges: dict[str, float] = {}
        counters: dict[str, float] = {}
        edges: dict[float, float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name in GAUGES:
                    gauges[GAUGES[sample.name]] = gauges.get(GAUGES[sample.name], 0.0) + sample.value
                elif sample.name in COUNTERS:
                    counters[COUNTERS[sample.name]] = counters.get(COUNTERS[sample.name], 0.0) + sample.value
                elif sample.name == TTFT:
                    edge = float(sample.labels["le"])
                    edges[edge] = edges.get(edge, 0.0) + sample.value
        ts = datetime.fromtimestamp(entry["t"], UTC)
        row: dict[str, object] = {
            "ts": ts,
            "instance": pages.name,
            "model": model,
            "role": "both",
            "engine": "vllm",
            "scrape_state": "ok",
            "interval_seconds": entry["t"] - last if last else None,
            "kv_usage_max_ratio": gauges.get("kv_usage_ratio"),
            "queue_max": gauges.get("queue_depth"),
            **gauges,
        }
        if last:
            row |= {name: value - before.get(name, 0.0) for name, value in counters.items()}
            _insert_bins(rows, edges, bins_before, row)
        _insert(rows, "engine_samples", row)
        before, bins_before, last = counters, edges, entry["t"]


def _insert_bins(
    rows: Rows,
    edges: dict[float, float],
    before: dict[float, float],
    sample: dict[str, object],
) -> None:
    low, below = 0.0, 0.0
    for edge in sorted(edges):
        total = edges[edge] - before.get(edge, 0.0)
        if total > below:
            _insert(
                rows,
                "engine_bins",
                {
                    "ts": sample["ts"],
                    "interval_seconds": sample["interval_seconds"],
                    "instance": sample["instance"],
                    "model": sample["model"],
                    "metric": "ttft_seconds",
                    "edge_lo": low,
                    "edge_hi": None if edge == float("inf") else edge,
                    "count": int(total - below),
                },
            )
        low, below = edge, total


def _insert(rows: Rows, table: str, row: dict[str, object]) -> None:
    rows.setdefault(table, []).append(row)


def _write(connection: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    for table, found in rows.items():
        batch = pa.Table.from_pylist([{name: row.get(name) for name in _names(found)} for row in found])
        connection.register("batch", batch)
        names = ", ".join(batch.column_names)
        connection.execute(f"insert into {table} ({names}) select {names} from batch")
        connection.unregister("batch")


def _names(rows: list[dict[str, object]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _load_spans(rows: Rows, folder: Path, model: str, instance: str) -> None:
    for path in sorted(folder.glob("*.bin")):
        body = ExportTraceServiceRequest()
        body.ParseFromString(path.read_bytes())
        for resource in body.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    if span.name == "llm_request":
                        _insert_span(rows, span, model, instance)


def _insert_span(rows: Rows, span: object, model: str, instance: str) -> None:
    found = {
        item.key: item.value.double_value or item.value.int_value or item.value.string_value
        for item in span.attributes  # type: ignore[attr-defined]
    }
    start = datetime.fromtimestamp(span.start_time_unix_nano / 1e9, UTC)  # type: ignore[attr-defined]
    ttft = float(found["gen_ai.latency.time_to_first_token"])
    e2e = float(found["gen_ai.latency.e2e"])
    tokens = int(found["gen_ai.usage.prompt_tokens"])
    _insert(
        rows,
        "requests",
        {
            "ts": start,
            "first_token_at": start + timedelta(seconds=ttft),
            "finished_at": start + timedelta(seconds=e2e),
            "request_id": found["gen_ai.request.id"],
            "model": model,
            "instance": instance,
            "engine": "vllm",
            "input_tokens": tokens,
            "output_tokens": int(found["gen_ai.usage.completion_tokens"]),
            "length_bucket": length_bucket(tokens),
            "queue_seconds": float(found.get("gen_ai.latency.time_in_queue", 0.0)),
            "prefill_seconds": float(found.get("gen_ai.latency.time_in_model_prefill", 0.0)),
            "decode_seconds": float(found.get("gen_ai.latency.time_in_model_decode", 0.0)),
            "ttft_seconds": ttft,
            "engine_ttft_seconds": ttft,
            "e2e_seconds": e2e,
            "engine_e2e_seconds": e2e,
            "status": "ok",
            "source": "engine",
        },
    )

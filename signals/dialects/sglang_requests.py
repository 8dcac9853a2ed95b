"""Turns SGLang's request spans and its request-metrics lines into request halves; never keeps prompts or outputs.

A span carries `gen_ai.latency.*` on its root (tokenizer_manager.py). A line of `--export-metrics-to-file-dir`
(`sglang-request-metrics-YYYYMMDD_HH.log`) is the request's `meta_info` beside `request_parameters`, a JSON text that
holds the prompt unless it was skipped there: of it only the temperature and the constraint are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from signals.dialects import lines
from signals.dialects.genai import latency_half
from signals.numbers import number, whole
from signals.spans import RequestHalf, Span

#: vLLM's request spans have the same attributes under this name; they are another dialect's.
_VLLM_SPAN = "llm_request"
_LATENCIES = ("gen_ai.latency.e2e", "gen_ai.latency.time_to_first_token")
_CONSTRAINTS = ("json_schema", "regex", "ebnf", "structural_tag")
_STATUS = {"abort": "aborted"}


def halves(spans: Iterable[Span]) -> list[RequestHalf]:
    """Return an engine half for every root span with latencies; stage spans have none."""
    return [
        latency_half(span, engine="sglang", match=_text(span, "gen_ai.request.id") or _text(span, "gen_ai.response.id"))
        for span in spans
        if span.name != _VLLM_SPAN and any(name in span.attributes for name in _LATENCIES)
    ]


def line(record: Mapping[str, object]) -> RequestHalf | None:
    """Return the half of one request-metrics line, or None when it is another kind of line."""
    if "request_parameters" not in record:
        return None
    meta = lines.child(record, "meta_info") or record
    request_id = lines.word(meta, "id", "rid")
    e2e = lines.seconds(meta, "e2e_latency")
    finished = lines.time_ns(meta, "response_sent_to_client_ts", "finished_ts", "request_finished_ts")
    received = lines.time_ns(meta, "request_received_ts", "received_ts")
    if received is None and finished is not None and e2e is not None:
        received = finished - round(e2e * 1e9)
    if request_id is None or received is None:
        return None
    reason = lines.word(lines.child(meta, "finish_reason"), "type") or lines.word(meta, "finish_reason")
    sampling = lines.child(_parameters(record), "sampling_params")
    draft = whole(meta, "spec_draft_token_num", "spec_num_draft_tokens")
    return RequestHalf(
        side="log",
        key=request_id,
        part=f"sglang/{request_id}",
        start_ns=received,
        end_ns=None if e2e is None else received + round(e2e * 1e9),
        match=request_id,
        request_id=request_id,
        model=lines.word(meta, "model", "model_name"),
        model_version=lines.word(meta, "weight_version"),
        engine="sglang",
        input_tokens=whole(meta, "prompt_tokens"),
        cached_tokens=whole(meta, "cached_tokens"),
        output_tokens=whole(meta, "completion_tokens"),
        queue_seconds=lines.seconds(meta, "queue_time"),
        ttft_seconds=lines.seconds(meta, "first_token_latency", "ttft"),
        e2e_seconds=e2e,
        status=_STATUS.get(reason or "", "ok"),
        finish_reason=reason,
        structured=None if not sampling else any(sampling.get(name) for name in _CONSTRAINTS),
        temperature=number(sampling, "temperature"),
        spec_draft_tokens=draft,
        spec_accepted_tokens=whole(meta, "spec_accept_token_num", "spec_num_accepted_tokens"),
    )


def _parameters(record: Mapping[str, object]) -> Mapping[str, object]:
    text = record.get("request_parameters")
    if isinstance(text, Mapping):
        return text
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(span: Span, name: str) -> str | None:
    value = span.attributes.get(name)
    return str(value) if value else None

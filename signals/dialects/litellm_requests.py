"""Turns LiteLLM's spans (v1 and v2) and its spend-log lines into gateway halves; never keeps messages or who asked.

From LiteLLM 1.108 and 1.110. v1 writes what it knows on the server's POST span, if that is still open when the answer
ends, and always the team on `raw_gen_ai_request` below it; v2 (opt-in) writes a client span per call, two levels below
the POST span. A line is a row of LiteLLM_SpendLogs or a StandardLoggingPayload; it is keyed by the response's id, or by
the call's where no response came, and spans that know that id claim it as theirs: one request, whichever comes first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from signals.dialects import lines
from signals.dialects.genai import first_reason, text
from signals.numbers import number, whole
from signals.spans import RequestHalf, Scalar, Span

#: Routes that serve a model; other routes of the proxy are not requests.
MODEL_ROUTES = ("/completions", "/chat/completions", "/responses", "/messages", "/embeddings", ":generateContent")
#: v1: below the server span, one per upstream attempt. v2: the client span is named "OPERATION MODEL".
UPSTREAM_SPANS = frozenset({"raw_gen_ai_request", "litellm_request"})
SERVER, CLIENT = 2, 3
#: OTLP status code of a failed span.
ERROR = 2


def halves(spans: Iterable[Span]) -> list[RequestHalf]:
    """Return the gateway parts of every model request in these spans; parts of one request share their key."""
    batch = {span.span_id: span for span in spans}
    found = []
    for span in batch.values():
        if span.kind == SERVER and _is_model_route(span.attributes):
            found.append(_server_part(span))
        elif span.name in UPSTREAM_SPANS:
            found.append(_upstream_part(span, _root(span, batch)))
        elif span.kind == CLIENT and "litellm.call_id" in span.attributes:
            found.append(_client_part(span, _root(span, batch)))
        elif span.name == "fastapi.dependencies" and span.parent_span_id and "litellm.team.id" in span.attributes:
            found.append(_link_part(span))
    return found


def _is_model_route(attributes: Mapping[str, Scalar]) -> bool:
    route = str(attributes.get("http.route") or attributes.get("url.path") or "")
    return route.endswith(MODEL_ROUTES) and attributes.get("http.request.method", "POST") == "POST"


def _root(span: Span, batch: Mapping[str, Span]) -> str:
    """Return the id of the highest known ancestor: the server span's own, as far as this batch tells."""
    seen = span
    for _ in range(8):
        parent = batch.get(seen.parent_span_id)
        if parent is None:
            return seen.parent_span_id or seen.span_id
        if parent.kind == SERVER:
            return parent.span_id
        seen = parent
    return seen.span_id


def _server_part(span: Span) -> RequestHalf:
    code = whole(span.attributes, "http.response.status_code")
    seconds = (span.end_ns - span.start_ns) / 1e9
    status = status_of(code, text(span.attributes, "error.type"))
    return _half(span, span.span_id, end_ns=span.end_ns, e2e_seconds=seconds, status=status)


def _upstream_part(span: Span, root: str) -> RequestHalf:
    return _half(span, root, match=text(span.attributes, "llm.hosted_vllm.id"), attempts=1)


def _client_part(span: Span, root: str) -> RequestHalf:
    seconds = (span.end_ns - span.start_ns) / 1e9
    status = "error" if span.status_code == ERROR else None
    return _half(span, root, attempts=1, e2e_seconds=seconds, status=status)


def _link_part(span: Span) -> RequestHalf:
    """Return the part that ties spans below this one to the server span above it."""
    return _half(span, span.parent_span_id, alias=span.span_id)


def _half(
    span: Span,
    key: str,
    *,
    alias: str | None = None,
    match: str | None = None,
    attempts: int | None = None,
    end_ns: int | None = None,
    e2e_seconds: float | None = None,
    status: str | None = None,
) -> RequestHalf:
    """Return what the GenAI and LiteLLM attributes of either version say; `match` where they name no response."""
    have = span.attributes
    provider = text(have, "gen_ai.provider.name", "gen_ai.system")
    served = text(have, "litellm.provider.model")
    if served and provider:
        served = served.removeprefix(f"{provider}/")
    group = text(have, "litellm.model_group")
    asked = text(have, "gen_ai.request.model")
    tokens_in = whole(have, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
    tokens_out = whole(have, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
    counted = bool(tokens_in or tokens_out)
    response_id, call_id = text(have, "gen_ai.response.id") or match, text(have, "litellm.call_id")
    return RequestHalf(
        side="gateway",
        key=key,
        part=f"{span.trace_id}/{span.span_id}",
        start_ns=span.start_ns,
        end_ns=end_ns,
        trace_id=span.trace_id,
        match=response_id,
        alias=alias or response_id or call_id,
        request_id=call_id,
        model=served or (asked if group else None),
        requested_model=group or asked,
        tenant=text(have, "metadata.user_api_key_team_alias", "litellm.team.alias"),
        tenant_id=text(have, "metadata.user_api_key_team_id", "litellm.team.id"),
        attempts=attempts,
        input_tokens=tokens_in if counted else None,
        cached_tokens=whole(have, "gen_ai.usage.cache_read.input_tokens"),
        output_tokens=tokens_out if counted else None,
        ttft_seconds=number(have, "gen_ai.response.time_to_first_chunk"),
        e2e_seconds=e2e_seconds,
        temperature=number(have, "gen_ai.request.temperature"),
        finish_reason=first_reason(text(have, "gen_ai.response.finish_reasons")),
        status=status,
    )


def status_of(http_code: int | None, error: str | None) -> str | None:
    """Return the status of a gateway request from its HTTP code; None where the code says nothing.

    429 is a tenant's own quota at the gateway; 408 and 504 are time-outs; 499 is a client that left; 503 is refused
    work; other 4xx are the client's fault and 5xx ours.
    """
    if http_code is None:
        return "error" if error else None
    if http_code < 400:
        return "aborted" if error in {"ConnectionError", "ClientDisconnect", "CancelledError"} else "ok"
    special = {408: "timeout", 429: "rate_limited", 499: "aborted", 503: "rejected", 504: "timeout"}
    return special.get(http_code, "error" if http_code >= 500 else "client_error")


def line(record: Mapping[str, object]) -> RequestHalf | None:
    """Return the gateway half of one spend-log line, or None when it is another kind of line."""
    call_id = lines.word(record, "litellm_call_id")
    response_id = lines.word(record, "request_id", "id") or call_id
    started = lines.time_ns(record, "startTime")
    if response_id is None or started is None or "call_type" not in record:
        return None
    ended = lines.time_ns(record, "endTime")
    first = lines.time_ns(record, "completionStartTime")
    metadata = _object(record.get("metadata"))
    usage = _object(metadata.get("usage_object")) or _object(metadata.get("additional_usage_values"))
    details = _object(usage.get("prompt_tokens_details"))
    failed = (lines.word(record, "status") or lines.word(metadata, "status")) == "failure"
    error = _object(metadata.get("error_information")) or _object(record.get("error_information"))
    provider = lines.word(record, "custom_llm_provider")
    served = lines.word(record, "model")
    return RequestHalf(
        side="gateway",
        key=response_id,
        part=f"litellm/{response_id}",
        start_ns=started,
        end_ns=ended,
        match=response_id,
        request_id=call_id,
        model=served.removeprefix(f"{provider}/") if served else None,
        requested_model=lines.word(record, "model_group") or served,
        tenant=lines.word(metadata, "user_api_key_team_alias"),
        tenant_id=lines.word(record, "team_id") or lines.word(metadata, "user_api_key_team_id"),
        attempts=(whole(metadata, "attempted_retries") or 0) + 1,
        input_tokens=whole(record, "prompt_tokens"),
        cached_tokens=whole(details, "cached_tokens"),
        output_tokens=whole(record, "completion_tokens"),
        ttft_seconds=(first - started) / 1e9 if first is not None and ended is not None and first < ended else None,
        e2e_seconds=None if ended is None else (ended - started) / 1e9,
        status=status_of(whole(error, "error_code"), "failure") if failed else "ok",
        session=lines.word(record, "session_id"),
    )


def _object(found: object) -> Mapping[str, object]:
    """Return an object that may have come as JSON text."""
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except ValueError:
            return {}
    return found if isinstance(found, Mapping) else {}

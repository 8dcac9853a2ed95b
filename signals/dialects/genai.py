"""Reads the OpenTelemetry GenAI attributes that engines and gateways share, old names and new; never message text."""

from __future__ import annotations

from collections.abc import Mapping

from signals.numbers import number, whole
from signals.spans import RequestHalf, Scalar, Span

#: Texts that mean "no value".
NO_TEXT = frozenset({"", "None", "null"})


def latency_half(span: Span, *, engine: str, match: str | None) -> RequestHalf:
    """Return the engine half of a span with `gen_ai.latency.*` attributes in seconds (vLLM, SGLang)."""
    have = span.attributes
    request_id = text(have, "gen_ai.request.id") or text(have, "gen_ai.response.id")
    return RequestHalf(
        side="engine",
        key=span.span_id,
        part=f"{span.trace_id}/{span.span_id}",
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        trace_id=span.trace_id,
        match=match,
        request_id=request_id,
        model=text(have, "gen_ai.response.model", "gen_ai.request.model") or text(span.resource, "sloscope.model"),
        instance=text(span.resource, "sloscope.instance"),
        engine=engine,
        input_tokens=whole(have, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        cached_tokens=whole(have, "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cached_tokens"),
        output_tokens=whole(have, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        queue_seconds=number(have, "gen_ai.latency.time_in_queue"),
        prefill_seconds=number(have, "gen_ai.latency.time_in_model_prefill"),
        decode_seconds=number(have, "gen_ai.latency.time_in_model_decode"),
        ttft_seconds=number(have, "gen_ai.latency.time_to_first_token"),
        e2e_seconds=number(have, "gen_ai.latency.e2e"),
        temperature=number(have, "gen_ai.request.temperature"),
        finish_reason=first_reason(text(have, "gen_ai.response.finish_reasons")),
        status="error" if span.status_code == 2 else "ok",
    )


def text(attributes: Mapping[str, Scalar], *names: str) -> str | None:
    """Return the first of `names` that holds a value ("None" and "" are none)."""
    for name in names:
        value = attributes.get(name)
        if value is None:
            continue
        found = value if isinstance(value, str) else str(value)
        if found not in NO_TEXT:
            return found
    return None


def first_reason(reasons: str | None) -> str | None:
    """Return the first finish reason of a JSON list in text, e.g. '["length"]'.

    >>> first_reason('["length"]')
    'length'
    """
    if reasons is None:
        return None
    inner = reasons.strip("[] ").split(",")[0].strip(" \"'")
    return inner or None

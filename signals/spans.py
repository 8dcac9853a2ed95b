"""A trace span and a request half in plain words, whatever wire they came by; never holds prompts or outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Scalar = str | int | float | bool

# Neither record is frozen: making a frozen record of forty fields takes three times as long (measured), and a collector
# makes hundreds of thousands a second. Nobody changes one; `dataclasses.replace` makes another.


@dataclass(slots=True, unsafe_hash=True)
class Span:
    """One finished span. Ids are lower-case hex; times are Unix nanoseconds; attribute lists are left out."""

    name: str
    trace_id: str
    span_id: str
    parent_span_id: str
    start_ns: int
    end_ns: int
    kind: int = 0
    status_code: int = 0
    scope: str = ""
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    resource: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(slots=True, unsafe_hash=True)
class RequestHalf:
    """What one span or log line knows of one request; None = it does not say.

    `side` is engine, gateway or log. `key` names the request on its own side: all gateway spans below one server span
    share it, an engine span is alone; parts keyed by `alias` belong to `key` too. `part` is unique, so that a resent
    part is stored once. `match` is the engine's request id as both sides can know it; halves of two sides with the
    same `match`, or an engine half inside the gateway's trace, are one request.
    """

    side: str
    key: str
    part: str
    start_ns: int
    end_ns: int | None = None
    trace_id: str | None = None
    match: str | None = None
    alias: str | None = None
    request_id: str | None = None
    model: str | None = None
    requested_model: str | None = None
    model_version: str | None = None
    tenant: str | None = None
    tenant_id: str | None = None
    domain: str | None = None
    request_class: str | None = None
    region: str | None = None
    instance: str | None = None
    prefill_instance: str | None = None
    engine: str | None = None
    adapter: str | None = None
    attempts: int | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    queue_seconds: float | None = None
    prefill_seconds: float | None = None
    transfer_seconds: float | None = None
    decode_seconds: float | None = None
    ttft_seconds: float | None = None
    e2e_seconds: float | None = None
    status: str | None = None
    finish_reason: str | None = None
    structured: bool | None = None
    temperature: float | None = None
    spec_draft_tokens: int | None = None
    spec_accepted_tokens: int | None = None
    session: str | None = None
    turn: int | None = None
    prefix_hashes: tuple[int, ...] | None = None

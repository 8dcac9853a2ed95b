"""Reads OTLP's JSON encoding: hex ids where plain protobuf JSON has base64; never guesses at malformed bodies."""

from __future__ import annotations

import base64
import json
from typing import TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

from signals.errors import PayloadError

M = TypeVar("M", bound=Message)
#: Fields that OTLP writes as hex text (opentelemetry.io/docs/specs/otlp, "JSON Protobuf Encoding").
HEX_FIELDS = frozenset({"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"})
#: Deepest nesting of a body; protobuf itself stops at 100.
MAX_DEPTH = 90


def parse_json(body: bytes, message: type[M]) -> M:
    """Return the message of an OTLP JSON body; unknown fields are let go, as the protocol asks."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise PayloadError(f"body of {len(body)} bytes is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise PayloadError(f"body is a JSON {type(content).__name__}; expected an object")
    try:
        plain = {key: _ids_as_base64(item, 1) for key, item in content.items()}
        return json_format.ParseDict(plain, message(), ignore_unknown_fields=True)
    except (json_format.ParseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise PayloadError(f"body is no OTLP JSON: {' '.join(str(error).split())[:300]}") from error


def _ids_as_base64(value: object, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return {
            key: _base64_of(item) if key in HEX_FIELDS and isinstance(item, str) else _ids_as_base64(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_ids_as_base64(item, depth + 1) for item in value]
    return value


def _base64_of(text: str) -> str:
    try:
        return base64.b64encode(bytes.fromhex(text)).decode()
    except ValueError:
        return text

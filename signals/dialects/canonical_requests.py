"""Carries a request half as one span named `sloscope.request`, and reads it back; never decides what a half says.

An agent that follows request logs sends what it read there in this form, so that it travels, is acknowledged and is
stored as the halves from engines' own spans are. Fields are attributes `sloscope.request.FIELD` of their plain types;
block hashes are hexadecimal words, 64 in an attribute, because longer texts are content and are dropped on the way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from math import isfinite

from signals.spans import RequestHalf, Scalar, Span

NAME = "sloscope.request"
PREFIX = f"{NAME}."
SIDES = frozenset({"engine", "gateway", "log"})
#: Times stand in the span itself: the start always, the end when `END` says that it is known.
START, END = "start_ns", "end_ns"
HASHES = "prefix_hashes"
WHOLE = frozenset(
    {END, "attempts", "input_tokens", "cached_tokens", "output_tokens", "spec_draft_tokens", "spec_accepted_tokens",
     "turn"}
)  # fmt: skip
REAL = frozenset(
    {"queue_seconds", "prefill_seconds", "transfer_seconds", "decode_seconds", "ttft_seconds", "e2e_seconds",
     "temperature"}
)  # fmt: skip
TRUTH = frozenset({"structured"})
TEXT = frozenset(field.name for field in fields(RequestHalf)) - WHOLE - REAL - TRUTH - {START, HASHES}
#: Words of 16 hexadecimal digits in one attribute: 1,024 characters (`signals.privacy.MAX_TEXT`).
HASHES_PER_TEXT = 64
_INT64 = 1 << 63


def span_of(half: RequestHalf) -> Span:
    """Return the span that carries a half; a half without a trace gets ids made from its part."""
    digest = hashlib.blake2b(half.part.encode("utf-8", "replace"), digest_size=24).hexdigest()
    trace_id = half.trace_id if _is_trace_id(half.trace_id) else digest[:32]
    end_ns = half.start_ns if half.end_ns is None else max(half.start_ns, half.end_ns)
    return Span(NAME, str(trace_id), digest[32:], "", half.start_ns, end_ns, attributes=_attributes(half))


def halves(spans: Iterable[Span]) -> list[RequestHalf]:
    """Return the halves that spans of this form carry; other spans and broken ones carry none."""
    found = (_half(span) for span in spans if span.name == NAME)
    return [half for half in found if half is not None]


def _attributes(half: RequestHalf) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {}
    for name in (*sorted(TEXT), *sorted(WHOLE), *sorted(REAL), *sorted(TRUTH)):
        value = getattr(half, name)
        if value is None or (isinstance(value, int) and not -_INT64 <= value < _INT64):
            continue
        found[PREFIX + name] = float(value) if name in REAL else value
    hashes = half.prefix_hashes or ()
    for number, start in enumerate(range(0, len(hashes), HASHES_PER_TEXT)):
        words = (f"{value % (1 << 64):016x}" for value in hashes[start : start + HASHES_PER_TEXT])
        found[f"{PREFIX}{HASHES}.{number}"] = "".join(words)
    return found


def _half(span: Span) -> RequestHalf | None:
    have = span.attributes
    text = {name: _text(have, name) for name in TEXT}
    side, key, part = text.pop("side"), text.pop("key"), text.pop("part")
    if side not in SIDES or key is None or part is None:
        return None
    return RequestHalf(
        side=side,
        key=key,
        part=part,
        start_ns=span.start_ns,
        prefix_hashes=_hashes(have),
        **text,  # type: ignore[arg-type]  # every remaining text field is optional text
        **{name: _whole(have, name) for name in WHOLE},  # type: ignore[arg-type]  # likewise
        **{name: _real(have, name) for name in REAL},  # type: ignore[arg-type]  # likewise
        **{name: _truth(have, name) for name in TRUTH},  # type: ignore[arg-type]  # likewise
    )


def _text(have: Mapping[str, Scalar], name: str) -> str | None:
    value = have.get(PREFIX + name)
    return value if isinstance(value, str) and value else None


def _whole(have: Mapping[str, Scalar], name: str) -> int | None:
    value = have.get(PREFIX + name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _real(have: Mapping[str, Scalar], name: str) -> float | None:
    value = have.get(PREFIX + name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) else None


def _truth(have: Mapping[str, Scalar], name: str) -> bool | None:
    value = have.get(PREFIX + name)
    return value if isinstance(value, bool) else None


def _hashes(have: Mapping[str, Scalar]) -> tuple[int, ...] | None:
    words: list[int] = []
    number = 0
    while isinstance(text := have.get(f"{PREFIX}{HASHES}.{number}"), str):
        try:
            words += (int(text[place : place + 16], 16) for place in range(0, len(text), 16))
        except ValueError:
            return None
        number += 1
    return tuple(value - (1 << 64) if value >= _INT64 else value for value in words) or None


def _is_trace_id(text: str | None) -> bool:
    return text is not None and len(text) == 32 and text.strip("0123456789abcdef") == "" and text.strip("0") != ""

"""A request half that travels as a span comes back as it was, through the collector's own reader of spans."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.encode import Batch, seal
from agent.requestlogs.encode import encode_halves
from collector.receivers.traces import decode_traces, parse_spans
from signals.dialects.canonical_requests import HASHES_PER_TEXT, PREFIX, REAL, TEXT, TRUTH, WHOLE, halves, span_of
from signals.records import Identity
from signals.spans import RequestHalf, Span

FIRST = Identity("node", "e1", 7)
FULL = RequestHalf(
    side="log", key="k", part="p", start_ns=1_700_000_000_000_000_000, end_ns=1_700_000_001_000_000_000,
    trace_id="a" * 32, match="m", alias="al", request_id="r", model="org/model", requested_model="chat",
    model_version="v1", tenant="acme", tenant_id="t-1", domain="code", request_class="interactive", region="eu",
    instance="i", prefill_instance="pi", engine="dynamo", adapter="lora-a", attempts=2, input_tokens=100,
    cached_tokens=64, output_tokens=20, queue_seconds=0.25, prefill_seconds=0.5, transfer_seconds=0.125,
    decode_seconds=1.5, ttft_seconds=0.75, e2e_seconds=2.5, status="ok", finish_reason="stop", structured=True,
    temperature=0.0, spec_draft_tokens=9, spec_accepted_tokens=7, session="s", turn=3,
    prefix_hashes=tuple((n * 0x9E3779B97F4A7C15 + 5) % 2**64 - 2**63 for n in range(3 * HASHES_PER_TEXT + 1)),
)  # fmt: skip


def travelled(half: RequestHalf) -> RequestHalf:
    batch: Batch = encode_halves([half], FIRST)
    decoded = decode_traces(parse_spans(seal([batch])), "peer")
    (found,) = decoded.batches
    assert (found.identity, decoded.rejected) == (FIRST, 0)
    (back,) = found.halves
    return back


def test_every_field_of_a_half_has_its_kind() -> None:
    named = TEXT | WHOLE | REAL | TRUTH | {"start_ns", "prefix_hashes"}
    assert named == {field.name for field in fields(RequestHalf)}
    assert all(getattr(FULL, field.name) is not None for field in fields(RequestHalf))


def test_a_half_with_everything_comes_back_as_it_was() -> None:
    assert travelled(FULL) == FULL


def test_a_half_with_next_to_nothing_comes_back_as_it_was() -> None:
    bare = RequestHalf("log", "k", "p", 5)
    assert travelled(bare) == bare
    assert travelled(replace(bare, structured=False, temperature=0.0, output_tokens=0)).structured is False


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=200),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 2**63 - 1),
)
def test_any_hashes_and_numbers_come_back(hashes: list[int], seconds: float, tokens: int) -> None:
    half = RequestHalf("log", "k", "p", 5, ttft_seconds=seconds, input_tokens=tokens, prefix_hashes=tuple(hashes))
    assert travelled(half) == half


def test_a_number_that_the_wire_cannot_hold_is_missing() -> None:
    assert travelled(RequestHalf("log", "k", "p", 5, input_tokens=2**64)).input_tokens is None


def test_halves_of_one_trace_have_spans_of_their_own() -> None:
    one, other = span_of(FULL), span_of(replace(FULL, part="other"))
    assert one.trace_id == other.trace_id == "a" * 32
    assert one.span_id != other.span_id
    assert span_of(replace(FULL, trace_id="not hex")).trace_id != "not hex"


@pytest.mark.parametrize(
    "broken",
    [{"side": "nobody"}, {"side": 1}, {"key": ""}, {"part": 3}, {"key": None}],
)
def test_a_span_that_names_no_half_carries_none(broken: dict[str, object]) -> None:
    span = span_of(FULL)
    attributes = {**span.attributes, **{PREFIX + name: value for name, value in broken.items()}}
    assert halves([replace(span, attributes=attributes)]) == []


def test_values_of_the_wrong_kind_are_missing() -> None:
    wrong = {"input_tokens": "many", "ttft_seconds": True, "structured": "yes", "model": 3, "prefix_hashes.0": "zz"}
    span = span_of(FULL)
    attributes = {**span.attributes, **{PREFIX + name: value for name, value in wrong.items()}}
    (half,) = halves([replace(span, attributes=attributes)])
    assert all(getattr(half, name.partition(".")[0]) is None for name in wrong)
    assert half.output_tokens == 20


def test_other_spans_carry_no_half_of_this_form() -> None:
    assert halves([Span("llm_request", "a" * 32, "b" * 16, "", 1, 2)]) == []

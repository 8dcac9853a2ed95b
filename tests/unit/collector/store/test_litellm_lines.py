"""A spend-log line and the spans of the same LiteLLM request become one row, in whatever order they come."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from collector.store.batch import HalfBatch
from collector.store.store import Store
from signals.dialects import registry
from signals.records import Identity
from signals.spans import RequestHalf, Span
from tests.support.spans import bodies, spans_of

ROW = "select request_id, attempts, tenant, output_tokens, e2e_seconds, status, source from requests order by all"


def _span_halves(run: str) -> list[RequestHalf]:
    return [half for body in bodies(run) for half in registry.request_halves(spans_of(body))]


def _line(response_id: str, start_ns: int, **more: object) -> RequestHalf:
    start = datetime.fromtimestamp(start_ns / 1e9, UTC)
    record = {
        "request_id": response_id, "call_type": "acompletion", "startTime": start.isoformat(),
        "endTime": start.isoformat(), "model": "tiny-llama", "model_group": "chat-small", "status": "success",
        "team_id": "None", "metadata": {"user_api_key_team_alias": "None", "attempted_retries": 0}, **more,
    }  # fmt: skip
    half = registry.log_half(record)
    assert half is not None
    return half


def _lines(halves: list[RequestHalf]) -> list[RequestHalf]:
    found = {half.match: half for half in halves if half.match and half.request_id}
    return [_line(match, half.start_ns) for match, half in found.items()]


def _rows(groups: list[list[RequestHalf]]) -> list[tuple[object, ...]]:
    with Store.open(None) as store:
        for number, halves in enumerate(groups):
            store.commit([HalfBatch(Identity("t", "t", number), tuple(halves))])
            store.join()
        return store.cursor().execute(ROW).fetchall()


@pytest.mark.parametrize("run", ["litellm-otlp", "litellm-otlp-v2"])
@pytest.mark.parametrize("order", ["spans first", "lines first", "mixed"])
def test_a_line_and_its_spans_are_one_request(run: str, order: str) -> None:
    spans = _span_halves(run)[:48]
    lines = _lines(spans)
    groups = {"spans first": [spans, lines], "lines first": [lines, spans]}.get(order)
    if groups is None:
        mixed = [*spans, *lines]
        random.Random(7).shuffle(mixed)
        groups = [mixed[place : place + 12] for place in range(0, len(mixed), 12)]
    assert len(lines) >= 5
    assert _rows(groups) == _rows([spans])


def test_a_call_without_a_response_is_found_by_its_own_id() -> None:
    attributes = {"http.route": "/chat/completions", "http.response.status_code": 503, "litellm.call_id": "call-1"}
    server = registry.request_halves(
        [Span("POST", "a" * 32, "b" * 16, "", 10**18, 10**18 + 10**9, 2, attributes=attributes)]
    )
    failure = {
        "status": "failure",
        "metadata": {"error_information": {"error_code": "503"}},
        "litellm_call_id": "call-1",
    }
    rows = _rows([server, [_line("call-1", 10**18, **failure)]])
    assert [(row[0], row[5]) for row in rows] == [("call-1", "rejected")]


def test_a_line_alone_is_a_request_and_none_is_no_tenant() -> None:
    rows = _rows([[_line("cmpl-1", 10**18)], [_line("cmpl-2", 10**18, attempts=None)]])
    assert [row[:3] for row in rows] == [("cmpl-1", 1, None), ("cmpl-2", 1, None)]


def test_retries_that_a_line_counts_are_not_added_to_those_that_spans_show() -> None:
    span = Span("raw_gen_ai_request", "a" * 32, "b" * 16, "c" * 16, 10**18, 10**18 + 10**9, 1,
                attributes={"gen_ai.response.id": "cmpl-1", "gen_ai.request.model": "m"})  # fmt: skip
    retried = _line("cmpl-1", 10**18, metadata={"attempted_retries": 2})
    assert [row[1] for row in _rows([registry.request_halves([span]), [retried]])] == [3]

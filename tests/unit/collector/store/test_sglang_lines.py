"""A request-metrics line and the span of the same SGLang request become one row, in whatever order they come."""

from __future__ import annotations

import pytest

from collector.store.batch import HalfBatch
from collector.store.store import Store
from signals.dialects import registry
from signals.records import Identity
from signals.spans import RequestHalf, Span

START_NS = 1_790_000_000_000_000_000
LATENCIES = {
    "gen_ai.latency.time_in_queue": 0.1, "gen_ai.latency.time_to_first_token": 0.4, "gen_ai.latency.e2e": 2.0,
}  # fmt: skip


def _span(number: int) -> RequestHalf:
    said = {"gen_ai.request.id": f"r{number}", "gen_ai.request.model": "m", "gen_ai.usage.completion_tokens": 50}
    start = START_NS + number * 1_000_000_000
    span = Span("generate", f"{number:032x}", f"{number:016x}", "", start, start + 2_000_000_000,
                attributes={**said, **LATENCIES})  # fmt: skip
    (half,) = registry.request_halves([span])
    return half


def _line(number: int) -> RequestHalf:
    record = {
        "request_parameters": "{}",
        "meta_info": {
            "id": f"r{number}", "prompt_tokens": 300, "cached_tokens": 64, "completion_tokens": 50, "e2e_latency": 2.0,
            "request_received_ts": START_NS / 1e9 + number, "spec_draft_token_num": 40, "spec_accept_token_num": 30,
        },
    }  # fmt: skip
    half = registry.log_half(record)
    assert half is not None
    return half


@pytest.mark.parametrize("order", ["spans first", "lines first", "together"])
def test_a_line_and_its_span_are_one_request_that_knows_what_either_knows(order: str) -> None:
    spans, lines = [_span(n) for n in range(5)], [_line(n) for n in range(5)]
    groups = {"spans first": [spans, lines], "lines first": [lines, spans], "together": [[*lines, *spans]]}[order]
    with Store.open(None) as store:
        for number, halves in enumerate(groups):
            store.commit([HalfBatch(Identity("t", "t", number), tuple(halves))])
            store.join()
        rows = store.cursor().execute(
            "select request_id, input_tokens, cached_tokens, output_tokens, queue_seconds, ttft_seconds, "
            "spec_accepted_tokens from requests order by ts"
        ).fetchall()  # fmt: skip
    assert rows == [(f"r{n}", 300, 64, 50, 0.1, 0.4, 30) for n in range(5)]

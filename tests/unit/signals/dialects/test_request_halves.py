"""Spans and log lines become request halves that can be joined, and never carry prompts, outputs or people."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields, replace

import pytest

from signals.dialects import registry
from signals.dialects.litellm_requests import status_of
from signals.spans import RequestHalf, Span
from tests.support.spans import bodies, spans_of


def halves(run: str) -> list[RequestHalf]:
    return [half for body in bodies(run) for half in registry.request_halves(spans_of(body))]


def test_every_vllm_request_span_is_one_engine_half() -> None:
    found = halves("vllm-live-otlp")
    assert len(found) == len({half.part for half in found}) == 350
    assert all(half.side == "engine" and half.engine == "vllm" for half in found)
    assert all(half.ttft_seconds is not None and half.queue_seconds is not None for half in found)


def test_spans_of_an_engines_start_are_no_requests() -> None:
    span = Span("Load model", "a" * 32, "b" * 16, "", 1, 2, 1, attributes={"code.function": "load_model"})
    assert registry.request_halves([span]) == []


def test_a_request_span_without_attributes_still_counts() -> None:
    (found,) = registry.request_halves([Span("llm_request", "a" * 32, "b" * 16, "", 1, 2, 2)])
    assert (found.ttft_seconds, found.match, found.status) == (None, None, "ok")


def test_every_gateway_request_carries_its_team_and_83_know_the_engines_id() -> None:
    gateway, engine = halves("litellm-otlp"), halves("vllm-behind-litellm-otlp")
    teams = {half.key: half.tenant for half in gateway if half.tenant}
    assert len(teams) == 155
    ids = {half.match for half in engine}
    joined = {half.key for half in gateway if half.match in ids}
    assert Counter(teams[key] for key in joined) == {"globex": 44, "acme": 39}


def test_requested_and_served_model_differ_where_the_gateway_says_both() -> None:
    found = [half for half in halves("litellm-otlp") if half.match]
    assert ("chat-small", "tiny-llama") in {(half.requested_model, half.model) for half in found}


def test_newer_gateway_spans_of_two_requests_in_one_trace_stay_two_requests() -> None:
    found = halves("litellm-otlp-v2")
    alias = {half.alias: half.key for half in found if half.alias}
    by_request: dict[str, list[RequestHalf]] = {}
    for half in found:
        by_request.setdefault(alias.get(half.key, half.key), []).append(half)
    assert len(by_request) == 10
    assert len({half.trace_id for half in found}) < 10
    for parts in by_request.values():
        assert {half.tenant for half in parts if half.tenant} in ({"acme"}, {"globex"})
        assert len({half.match for half in parts if half.match}) == 1
        assert sum(half.ttft_seconds is not None for half in parts) == 1


def test_newer_gateway_spans_join_when_every_span_comes_in_a_batch_of_its_own() -> None:
    spans = [span for body in bodies("litellm-otlp-v2") for span in spans_of(body)]
    found = [half for span in reversed(spans) for half in registry.request_halves([span])]
    alias = {half.alias: half.key for half in found if half.alias}
    keys = {alias.get(half.key, half.key) for half in found if half.match or half.e2e_seconds}
    assert len(keys) == 10


def test_dynamo_request_spans_name_the_worker_as_its_page_does() -> None:
    found = halves("dynamo-otlp")
    assert len(found) == 6
    first = found[0]
    assert (first.input_tokens, first.output_tokens) == (4, 8)
    assert first.ttft_seconds == pytest.approx(0.02554)
    assert first.instance == f"{2160817158212071145:016x}"


@pytest.mark.parametrize("run", ["litellm-otlp", "litellm-otlp-v2", "vllm-live-otlp", "dynamo-otlp"])
def test_no_half_carries_prompts_mail_or_keys(run: str) -> None:
    for half in halves(run):
        text = json.dumps([getattr(half, field.name) for field in fields(half)], default=str)
        assert "@" not in text
        assert not any(f"w{k} w" in text for k in range(0, 100, 7))
        assert all(len(str(getattr(half, field.name))) < 200 for field in fields(half))


def sglang_span() -> Span:
    return Span(
        "Req 1f",
        "a" * 32,
        "c" * 16,
        "",
        1_000_000_000,
        3_000_000_000,
        attributes={
            "gen_ai.latency.time_to_first_token": 0.5,
            "gen_ai.latency.e2e": 2.0,
            "gen_ai.usage.prompt_tokens": 100,
            "gen_ai.usage.cached_tokens": 64,
            "gen_ai.usage.completion_tokens": 7,
            "gen_ai.response.model": "m",
            "gen_ai.response.finish_reasons": '["stop"]',
            "gen_ai.request.id": "1f",
        },
    )


def test_an_sglang_request_span_is_an_engine_half_and_its_stages_are_not() -> None:
    stage = replace(sglang_span(), name="prefill_forward", span_id="d" * 16, attributes={})
    (found,) = registry.request_halves([sglang_span(), stage])
    assert (found.engine, found.model, found.cached_tokens, found.finish_reason) == ("sglang", "m", 64, "stop")
    assert (found.ttft_seconds, found.e2e_seconds, found.match) == (0.5, 2.0, "1f")


def test_an_sglang_request_metrics_line_is_a_log_half_without_its_prompt() -> None:
    line = {
        "request_parameters": json.dumps(
            {"text": "secret words", "sampling_params": {"temperature": 0.7, "json_schema": "{}"}}
        ),
        "id": "r-1", "e2e_latency": 2.5, "queue_time": 0.25, "prompt_tokens": 100, "completion_tokens": 20,
        "cached_tokens": 64, "finish_reason": {"type": "stop", "matched": 2}, "weight_version": "v7",
        "request_received_ts": 1_700_000_000.5,
    }  # fmt: skip
    half = registry.log_half(line)
    assert half is not None
    assert (half.side, half.engine, half.request_id, half.model_version) == ("log", "sglang", "r-1", "v7")
    assert (half.start_ns, half.end_ns) == (1_700_000_000_500_000_000, 1_700_000_003_000_000_000)
    assert (half.temperature, half.structured, half.queue_seconds, half.finish_reason) == (0.7, True, 0.25, "stop")
    assert "secret" not in str(half)


def dynamo_line() -> dict[str, object]:
    return {
        "schema": "dynamo.request.trace.v1",
        "event_type": "request_end",
        "event_time_unix_ms": 1_700_000_002_000,
        "agent_context": {"session_id": "s-1"},
        "request": {
            "request_id": "r-1", "x_request_id": "x-1", "model": "m", "input_tokens": 100, "output_tokens": 20,
            "cached_tokens": 64, "request_received_ms": 1_700_000_000_000, "prefill_wait_time_ms": 30.0,
            "prefill_time_ms": 70.0, "ttft_ms": 120.0, "total_time_ms": 900.0, "avg_itl_ms": 40.0,
            "worker": {"prefill_worker_id": 12580265489418579522, "decode_worker_id": 17899160672321931133},
            "finish_reason_metadata": {"finish_reason": "stop"},
            "replay": {"trace_block_size": 2, "input_length": 4, "input_sequence_hashes": [11, 2**63 + 5]},
        },
    }  # fmt: skip


def test_a_dynamo_trace_line_tells_stages_workers_and_prefix_hashes() -> None:
    half = registry.log_half(dynamo_line())
    assert half is not None
    assert (half.side, half.request_id, half.match, half.session) == ("log", "x-1", "r-1", "s-1")
    assert (half.queue_seconds, half.prefill_seconds, half.ttft_seconds) == pytest.approx((0.03, 0.07, 0.12))
    assert half.e2e_seconds == pytest.approx(0.9)
    assert half.end_ns == 1_700_000_000_900_000_000
    assert (half.instance, half.prefill_instance) == ("f86697cc3364077d", "ae9614cf3ce66e42")
    assert half.prefix_hashes == (11, 5 - 2**63)


#: Written by a Dynamo 1.6.1 frontend before a mocker, its file sink's envelope around the record.
FILED_LINE = (
    '{"timestamp":859,"event":{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":'
    '1795977528470,"request":{"request_id":"d189be8b-4ece-4340-a846-8742faab41d9","input_tokens":19,"output_tokens":8,'
    '"cached_tokens":0,"request_received_ms":1795977528436,"prefill_wait_time_ms":1.391634,"prefill_time_ms":17.584128,'
    '"ttft_ms":18.975762,"total_time_ms":34.388673000000004,"avg_itl_ms":2.2018444285714285,"kv_hit_rate":0.0,'
    '"queue_depth":0,"worker":{"prefill_worker_id":18292551809486982200,"prefill_dp_rank":0,"decode_worker_id":'
    '18292551809486982200,"decode_dp_rank":0},"replay":{"trace_block_size":16,"input_length":19,'
    '"input_sequence_hashes":[16296688345549491209,84685304926482428]}}}}'
)


def test_a_dynamo_trace_line_is_read_out_of_the_envelope_that_its_file_has() -> None:
    half = registry.log_half(json.loads(FILED_LINE))
    assert half is not None
    assert (half.match, half.input_tokens, half.output_tokens) == ("d189be8b-4ece-4340-a846-8742faab41d9", 19, 8)
    assert half.ttft_seconds == pytest.approx(0.018975762)
    assert half.instance == f"{18292551809486982200:016x}"
    assert half.prefix_hashes == (16296688345549491209 - 2**64, 84685304926482428)


@pytest.mark.parametrize("kind", ["request_payload", "tool_start", "tool_end"])
def test_other_dynamo_events_are_no_requests(kind: str) -> None:
    assert registry.log_half({**dynamo_line(), "event_type": kind}) is None


def spend_line() -> dict[str, object]:
    return {
        "request_id": "cmpl-1", "call_type": "acompletion", "api_key": "5f8e" * 16, "spend": 0.001,
        "prompt_tokens": 100, "completion_tokens": 20, "startTime": "2026-11-29T12:00:00.500000Z",
        "completionStartTime": "2026-11-29T12:00:01", "endTime": "2026-11-29T12:00:03+00:00",
        "model": "hosted_vllm/tiny", "custom_llm_provider": "hosted_vllm", "model_group": "chat-small",
        "user": "alice@example.test", "requester_ip_address": "10.0.0.1", "team_id": "team-1", "session_id": "s-1",
        "messages": [{"role": "user", "content": "secret words"}], "status": "success",
        "metadata": json.dumps({"user_api_key_team_alias": "acme",
                                "usage_object": {"prompt_tokens_details": {"cached_tokens": 64}}}),
    }  # fmt: skip


def test_a_litellm_spend_log_line_is_a_gateway_half_without_people_or_prompts() -> None:
    half = registry.log_half(spend_line())
    assert half is not None
    assert (half.side, half.match, half.tenant, half.tenant_id) == ("gateway", "cmpl-1", "acme", "team-1")
    assert (half.model, half.requested_model, half.cached_tokens) == ("tiny", "chat-small", 64)
    assert (half.ttft_seconds, half.e2e_seconds, half.status) == (0.5, 2.5, "ok")
    assert not any(word in str(half) for word in ("secret", "alice", "10.0.0.1", "5f8e"))


def test_a_failed_spend_log_line_says_whose_fault_it_was() -> None:
    metadata = {"status": "failure", "error_information": {"error_code": "429"}}
    half = registry.log_half({**spend_line(), "status": "failure", "metadata": metadata})
    assert half is not None
    assert half.status == "rate_limited"


@pytest.mark.parametrize(
    ("code", "error", "status"),
    [
        (200, None, "ok"), (200, "ClientDisconnect", "aborted"), (400, None, "client_error"),
        (404, None, "client_error"), (408, None, "timeout"), (429, None, "rate_limited"), (499, None, "aborted"),
        (500, None, "error"),
        (503, None, "rejected"), (504, None, "timeout"), (None, "boom", "error"), (None, None, None),
    ],
)  # fmt: skip
def test_a_gateways_http_code_becomes_a_status(code: int | None, error: str | None, status: str | None) -> None:
    assert status_of(code, error) == status


@pytest.mark.parametrize("line", [{}, {"schema": "other"}, {"request_parameters": "not json"}, {"call_type": "x"}])
def test_other_log_lines_are_no_requests(line: dict[str, object]) -> None:
    assert registry.log_half(line) is None


@pytest.mark.parametrize("broken", [{"request": None}, {"request": []}, {"request": {"request_id": 5}}])
def test_a_malformed_trace_line_is_let_go_without_an_error(broken: dict[str, object]) -> None:
    registry.log_half({**dynamo_line(), **broken})

"""Spans of engines and gateways: whose they are, what is taken off them, what is thrown back."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from agent.encode import seal
from agent.httpserver import Request
from agent.spans import Sender, SpanReceiver, parse, whose
from agent.spool import TRACES, Spool
from signals import wire
from signals.errors import PayloadError
from signals.privacy import keeps
from tests.unit.agent.support import FakeClock, new_spool

ENGINE = Sender(frozenset({"vllm-0", "vllm-cpu"}), "vllm", False, {wire.INSTANCE: "vllm-0", wire.MODEL: "m"})
GATEWAY = Sender(frozenset({"gw"}), "litellm", True, {wire.INSTANCE: "gw"})


def pair(key: str, value: str | int) -> KeyValue:
    return KeyValue(
        key=key, value=AnyValue(string_value=value) if isinstance(value, str) else AnyValue(int_value=value)
    )


def a_request(service: str = "vllm-cpu", **attributes: str | int) -> ExportTraceServiceRequest:
    message = ExportTraceServiceRequest()
    part = message.resource_spans.add()
    part.resource.attributes.append(pair("service.name", service))
    part.resource.attributes.append(pair("service.instance.id", "uuid-1"))
    span = part.scope_spans.add().spans.add(name="llm_request", trace_id=b"t" * 16, span_id=b"s" * 8)
    span.attributes.extend(pair(key.replace("__", "."), value) for key, value in attributes.items())
    span.events.add(name="prompt").attributes.append(pair("gen_ai.prompt", "secret"))
    span.status.message = "secret"
    return message


class Rig:
    def __init__(self, folder: Path, *senders: Sender, exempt: frozenset[str] = frozenset()) -> None:
        self.spool: Spool = new_spool(folder, FakeClock())
        self.counts: dict[str, int] = {}
        self.aliases: list[tuple[str, str]] = []
        self.loaded: list[tuple[str, float]] = []
        self.receiver = SpanReceiver(
            self.spool,
            lambda: senders,
            self._count,
            exempt,
            lambda alias, name: self.aliases.append((alias, name)),
            lambda name, at: self.loaded.append((name, at)),
        )

    def _count(self, kind: str, number: int) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + number

    def post(self, message: ExportTraceServiceRequest, path: str = "/v1/traces") -> ExportTraceServiceRequest:
        request = Request("POST", path, {"content-type": "application/x-protobuf"}, message.SerializeToString())
        assert self.receiver.answer(request).status == 200
        return parse(seal(batch.batch for batch in self.spool.waiting(TRACES, 10**9)))


def resource(message: ExportTraceServiceRequest, number: int = 0) -> dict[str, str]:
    return {pair.key: pair.value.string_value for pair in message.resource_spans[number].resource.attributes}


def span_attributes(message: ExportTraceServiceRequest) -> set[str]:
    return {pair.key for pair in message.resource_spans[0].scope_spans[0].spans[0].attributes}


def test_spans_are_stamped_with_their_instance_and_an_identity(tmp_path: Path) -> None:
    rig = Rig(tmp_path, ENGINE, GATEWAY)
    found = resource(rig.post(a_request()))
    assert found[wire.INSTANCE] == "vllm-0"
    assert found[wire.MODEL] == "m"
    assert (found[wire.AGENT], found[wire.EPOCH], found[wire.SEQUENCE]) == ("node", "e1", "1")
    assert found["service.name"] == "vllm-cpu"
    assert rig.aliases == [("uuid-1", "vllm-0")]
    assert rig.counts["spans"] == 1


def test_each_resource_of_a_request_is_a_batch_of_its_own(tmp_path: Path) -> None:
    message = a_request()
    message.MergeFrom(a_request("gw"))
    stored = Rig(tmp_path, ENGINE, GATEWAY).post(message)
    assert [resource(stored, n)[wire.SEQUENCE] for n in range(2)] == ["1", "2"]
    assert [resource(stored, n)[wire.INSTANCE] for n in range(2)] == ["vllm-0", "gw"]


def test_what_was_said_and_who_said_it_never_reaches_the_disk(tmp_path: Path) -> None:
    said = {
        "gen_ai__input__messages": "hello",
        "llm__hosted_vllm__stringified_raw_response": "hello",
        "metadata__user_api_key_user_email": "a@example.org",
        "metadata__user_api_key_hash": "abc",
        "metadata__requester_ip_address": "192.0.2.1",
        "note": "write to a@example.org",
        "long": "x" * 2000,
        "gen_ai__usage__prompt_tokens": 12,
        "metadata__user_api_key_team_alias": "acme",
        "gen_ai__request__id": "cmpl-1",
    }
    rig = Rig(tmp_path, ENGINE)
    stored = rig.post(a_request(**said))
    assert span_attributes(stored) == {
        "gen_ai.usage.prompt_tokens",
        "metadata.user_api_key_team_alias",
        "gen_ai.request.id",
    }
    span = stored.resource_spans[0].scope_spans[0].spans[0]
    assert (len(span.events), span.status.message) == (0, "")
    assert rig.counts["stripped"] == 8


def test_people_may_keep_what_names_a_person_but_never_messages(tmp_path: Path) -> None:
    exempt = frozenset({"user_email", "gen_ai.input.messages"})
    stored = Rig(tmp_path, ENGINE, exempt=exempt).post(a_request(user_email="a@b.org", gen_ai__input__messages="hello"))
    assert span_attributes(stored) == {"user_email"}


@pytest.mark.parametrize("name", ["gen_ai.request.temperature", "gen_ai.latency.e2e", "http.response.status_code"])
def test_what_the_dialects_read_is_kept(name: str) -> None:
    assert keeps(name, None)


@pytest.mark.parametrize(
    "name",
    [
        "gen_ai.response.id",
        "gen_ai.response.finish_reasons",
        "litellm.call_id",
        "litellm.team.alias",
        "llm.hosted_vllm.id",
        "http.route",
        "x_request_id",
        "decode_worker_id",
        "input_tokens",
        "output_tokens",
        "ttft_ms",
        "metadata.user_api_key_team_id",
    ],
)
def test_what_the_dialects_read_as_text_is_kept(name: str) -> None:
    assert keeps(name, "text")


def test_the_path_names_the_instance_where_nothing_else_does(tmp_path: Path) -> None:
    other = Sender(frozenset({"vllm-1"}), "vllm", False, {wire.INSTANCE: "vllm-1"})
    rig = Rig(tmp_path, ENGINE, other)
    assert resource(rig.post(a_request("engine"), "/vllm-1/v1/traces"))[wire.INSTANCE] == "vllm-1"


def test_spans_of_an_unknown_sender_are_kept_and_counted(tmp_path: Path) -> None:
    other = Sender(frozenset({"vllm-1"}), "vllm", False, {wire.INSTANCE: "vllm-1"})
    rig = Rig(tmp_path, ENGINE, other)
    assert wire.INSTANCE not in resource(rig.post(a_request("engine")))
    assert rig.counts["unattributed"] == 1


def test_the_only_engine_gets_what_is_not_a_gateways() -> None:
    assert whose({"service.name": "my-service"}, None, [ENGINE, GATEWAY]) is ENGINE
    assert whose({"service.name": "litellm-proxy"}, None, [ENGINE, GATEWAY]) is GATEWAY
    assert whose({"service.name": "my-proxy"}, None, [ENGINE]) is None
    assert whose({wire.INSTANCE: "elsewhere"}, None, [ENGINE]) is None


def test_the_end_of_loading_is_told(tmp_path: Path) -> None:
    message = a_request()
    span = message.resource_spans[0].scope_spans[0].spans.add(name="Overall Loading", end_time_unix_nano=5 * 10**9)
    span.span_id = b"x" * 8
    rig = Rig(tmp_path, ENGINE)
    rig.post(message)
    assert rig.loaded == [("vllm-0", 5.0)]


def test_json_has_its_ids_in_hex(tmp_path: Path) -> None:
    body = {
        "resourceSpans": [
            {"scopeSpans": [{"spans": [{"name": "llm_request", "traceId": "ab" * 16, "spanId": "cd" * 8}]}]}
        ]
    }
    rig = Rig(tmp_path, ENGINE)
    request = Request("POST", "/v1/traces", {"content-type": "application/json"}, json.dumps(body).encode())
    answer = rig.receiver.answer(request)
    assert (answer.status, answer.body, answer.content_type) == (200, b"{}", "application/json")
    stored = parse(seal(batch.batch for batch in rig.spool.waiting(TRACES, 10**9)))
    assert stored.resource_spans[0].scope_spans[0].spans[0].trace_id.hex() == "ab" * 16


@pytest.mark.parametrize(
    ("kind", "body"),
    [("application/x-protobuf", b"\xff\xff\xff"), ("application/json", b"{"), ("application/json", b"[1]")],
)
def test_a_body_that_is_no_trace_is_refused_and_counted(tmp_path: Path, kind: str, body: bytes) -> None:
    rig = Rig(tmp_path, ENGINE)
    with pytest.raises(PayloadError):
        rig.receiver.answer(Request("POST", "/v1/traces", {"content-type": kind}, body))
    assert rig.counts == {"broken": 1}


def test_other_paths_are_not_ours_and_other_signals_are_taken_and_dropped(tmp_path: Path) -> None:
    rig = Rig(tmp_path, ENGINE)
    assert rig.receiver.answer(Request("GET", "/v1/traces", {})).status == 405
    assert rig.receiver.answer(Request("POST", "/api/v2/spans", {})).status == 404
    assert rig.receiver.answer(Request("POST", "/v1/logs", {}, gzip.compress(b""))).status == 200
    assert rig.spool.empty

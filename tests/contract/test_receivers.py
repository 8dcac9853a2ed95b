"""Every receiver keeps the same promises: acknowledged is stored, once, in any encoding; bad parts are told."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cramjam
import pytest
from fastapi.testclient import TestClient
from google.protobuf import json_format
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agent.encode import Encoder, encode_scrape, seal
from collector.api.services import Services
from collector.receivers.remote_write import _REQUEST
from tests.support.collector import JSON, PROTOBUF, running
from tests.support.scrapes import T0, busy

S = 1_000_000_000


def metrics() -> ExportMetricsServiceRequest:
    return ExportMetricsServiceRequest(resource_metrics=[encode_scrape(busy(1)), encode_scrape(busy(2))])


def traces() -> ExportTraceServiceRequest:
    message = ExportTraceServiceRequest()
    for number in range(2):
        span = (
            message.resource_spans.add()
            .scope_spans.add()
            .spans.add(
                name="llm_request",
                trace_id=bytes([number + 1] * 16),
                span_id=bytes([number + 1] * 8),
                start_time_unix_nano=T0,
                end_time_unix_nano=T0 + 2 * S,
            )
        )
        span.attributes.add(key="gen_ai.latency.time_to_first_token").value.double_value = 0.5
    return message


def logs() -> ExportLogsServiceRequest:
    message = ExportLogsServiceRequest()
    scope = message.resource_logs.add().scope_logs.add()
    for number in range(2):
        record = scope.log_records.add(time_unix_nano=T0 + number * S)
        record.body.string_value = f"release {number}"
        record.attributes.add(key="sloscope.change.kind").value.string_value = "release"
    return message


@dataclass(frozen=True)
class Otlp:
    """One OTLP signal: its path, a request, and how many rows it becomes."""

    path: str
    message: Callable[[], Message]
    rows: str


SIGNALS = {
    "metrics": Otlp("/v1/metrics", metrics, "select count(*) from engine_samples"),
    "traces": Otlp("/v1/traces", traces, "select count(*) from requests"),
    "logs": Otlp("/v1/logs", logs, "select count(*) from changes"),
}
ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "identity": lambda body: body,
    "gzip": gzip.compress,
    "zstd": lambda body: bytes(cramjam.zstd.compress(body)),
    "deflate": lambda body: bytes(cramjam.zlib.compress(body)),
}


def as_json(message: Message) -> bytes:
    """Return OTLP JSON: ids are hex, unlike protobuf's own JSON."""
    content = json.loads(json_format.MessageToJson(message))
    for resource in content.get("resourceSpans", []):
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                span.update({key: base64.b64decode(span[key]).hex() for key in ("traceId", "spanId") if key in span})
    return json.dumps(content).encode()


@pytest.fixture
def collector() -> Iterator[tuple[TestClient, Services]]:
    with running() as found:
        yield found


def count(parts: Services, query: str) -> int:
    parts.writer.work(lambda: None)
    parts.store.join()
    with parts.store.cursor() as cursor:
        row = cursor.execute(query).fetchone()
    return int(row[0]) if row else 0


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", ["protobuf", "json"])
def test_every_signal_is_taken_in_every_encoding(
    collector: tuple[TestClient, Services], name: str, encoding: str, kind: str
) -> None:
    client, parts = collector
    signal = SIGNALS[name]
    body = signal.message().SerializeToString() if kind == "protobuf" else as_json(signal.message())
    headers = {**(PROTOBUF if kind == "protobuf" else JSON), "content-encoding": encoding}
    answer = client.post(signal.path, content=ENCODINGS[encoding](body), headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (200, headers["content-type"])
    assert answer.content in {b"", b"{}"}
    assert count(parts, signal.rows) == 2


@pytest.mark.parametrize("name", SIGNALS)
def test_what_is_sent_twice_is_stored_once(collector: tuple[TestClient, Services], name: str) -> None:
    client, parts = collector
    signal = SIGNALS[name]
    for _ in range(2):
        answer = client.post(signal.path, content=signal.message().SerializeToString(), headers=PROTOBUF)
        assert answer.status_code == 200
    assert count(parts, signal.rows) == 2


def test_a_bad_part_is_told_and_the_rest_is_stored(collector: tuple[TestClient, Services]) -> None:
    client, parts = collector
    message = metrics()
    damaged = message.resource_metrics.add()
    damaged.CopyFrom(message.resource_metrics[0])
    for pair in damaged.resource.attributes:
        if pair.key == "sloscope.schema":
            pair.value.string_value = "99"
    answer = client.post("/v1/metrics", content=as_json(message), headers=JSON)
    told = answer.json()["partialSuccess"]
    assert answer.status_code == 200
    assert int(told["rejectedDataPoints"]) > 0
    assert "schema 99" in told["errorMessage"]
    assert count(parts, SIGNALS["metrics"].rows) == 2


def test_a_body_of_an_unknown_schema_is_refused(collector: tuple[TestClient, Services]) -> None:
    client, _ = collector
    message = ExportMetricsServiceRequest(resource_metrics=[encode_scrape(busy(1))])
    for pair in message.resource_metrics[0].resource.attributes:
        if pair.key == "sloscope.schema":
            pair.value.string_value = "99"
    assert client.post("/v1/metrics", content=message.SerializeToString(), headers=PROTOBUF).status_code == 400


def test_spans_that_are_damaged_are_a_partial_success(collector: tuple[TestClient, Services]) -> None:
    client, parts = collector
    message = traces()
    message.resource_spans[0].scope_spans[0].spans.add(name="no ids")
    answer = client.post("/v1/traces", content=as_json(message), headers=JSON)
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"
    assert count(parts, SIGNALS["traces"].rows) == 2


def write_request(time_ms: int, prompts: float, only: int | None = None) -> bytes:
    message = _REQUEST()
    model = {"instance": "10.0.0.1:8000", "job": "vllm", "model_name": "m"}
    for name, value in (("vllm:num_requests_running", 2.0), ("vllm:prompt_tokens_total", prompts))[:only]:
        series = message.timeseries.add()
        for key, word in {"__name__": name, **model}.items():
            series.labels.add(name=key, value=word)
        series.samples.add(value=value, timestamp=time_ms)
    return bytes(cramjam.snappy.compress_raw(message.SerializeToString()))


def test_remote_write_becomes_samples_of_the_engine(collector: tuple[TestClient, Services]) -> None:
    client, parts = collector
    for step, prompts in enumerate((100.0, 130.0, 150.0)):
        answer = client.post("/api/v1/write", content=write_request(T0 // 1_000_000 + step * 15_000, prompts))
        assert answer.status_code == 204
    with parts.store.cursor() as cursor:
        rows = cursor.execute(
            "select instance, model, engine, running, prompt_tokens, interval_seconds from engine_samples order by ts"
        ).fetchall()
    assert rows == [
        ("10.0.0.1:8000", "m", "vllm", 2.0, None, None),
        ("10.0.0.1:8000", "m", "vllm", 2.0, 30.0, 15.0),
        ("10.0.0.1:8000", "m", "vllm", 2.0, 20.0, 15.0),
    ]


def test_remote_write_that_is_sent_twice_is_stored_once(collector: tuple[TestClient, Services]) -> None:
    client, parts = collector
    for prompts in (100.0, 130.0, 130.0):
        client.post("/api/v1/write", content=write_request(T0 // 1_000_000 + int(prompts) * 100, prompts))
    assert count(parts, "select count(*) from engine_samples") == 2
    assert count(parts, "select sum(prompt_tokens) from engine_samples") == 30


def test_a_change_is_stored_once_however_often_it_is_delivered(collector: tuple[TestClient, Services]) -> None:
    client, parts = collector
    body = json.dumps({"kind": "release", "summary": "v2", "ts": "2026-05-01T12:00:00Z"})
    answers = [client.post("/api/v1/changes", content=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 200]
    assert count(parts, "select count(*) from changes") == 1


def test_an_uploaded_table_is_imported_once(collector: tuple[TestClient, Services]) -> None:
    client, parts = collector
    body = "ts,model,status,ttft_seconds\n2026-05-01T12:00:00Z,m,ok,0.5\n2026-05-01T12:00:01Z,m,error,\n"
    first, second = (client.post("/api/v1/import?name=requests.csv", content=body).json() for _ in range(2))
    assert (first["recognised"], first["stored"], second["stored"], second["known"]) == (1, 1, 0, 1)
    assert count(parts, "select count(*) from requests") == 2


def test_numbers_that_are_none_are_missing(collector: tuple[TestClient, Services]) -> None:
    client, parts = collector
    message = ExportMetricsServiceRequest(resource_metrics=[encode_scrape(busy(1, running=float("nan")))])
    assert client.post("/v1/metrics", content=message.SerializeToString(), headers=PROTOBUF).status_code == 200
    assert count(parts, "select count(*) from engine_samples where running is null and queue_depth = 1") == 1


def test_a_clock_that_is_an_hour_off_is_stored_and_noted(collector: tuple[TestClient, Services]) -> None:
    client, parts = collector
    encoder = Encoder()
    for sequence in (1, 2):
        body = seal([encoder.scrape(busy(sequence))], T0 - 3_600 * S)
        assert client.post("/v1/metrics", content=body, headers=PROTOBUF).status_code == 200
    parts.writer.submit([busy(3)]).result(60)
    assert count(parts, "select count(*) from engine_samples") == 3
    assert count(parts, "select sum(count) from data_quality where kind = 'clock_skew' and source = 'agent'") == 1

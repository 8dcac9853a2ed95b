"""Feeds damaged bodies to every receiver: nothing but our own errors may come out, and memory stays bounded.

Run as `python -m benchmarks.ingest.fuzz INPUTS FOLDER`; prints one JSON object.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import cramjam
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_CUMULATIVE, ResourceMetrics

from agent.encode import Encoder, encode_scrape, seal
from collector.receivers.changes.registry import read_changes
from collector.receivers.compression import decompress, unsnappy
from collector.receivers.logs import decode_logs, parse_logs
from collector.receivers.metrics import MetricsReceiver
from collector.receivers.otlp_json import parse_json
from collector.receivers.remote_write import _REQUEST, read_write_request
from collector.receivers.traces import decode_traces, parse_spans
from collector.store.batch import Batch
from collector.store.store import Store
from signals.errors import InputError, SloscopeError
from tests.support.scrapes import T0, busy

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LIMIT = 1 << 20
#: Every so many inputs, what was decoded is also committed.
COMMIT_EVERY = 20


@dataclass(frozen=True, slots=True)
class Receiver:
    """One receiver: valid bodies to damage, and how a body becomes batches."""

    seeds: tuple[bytes, ...]
    decode: Callable[[bytes], list[Batch]]


def receivers() -> dict[str, Receiver]:
    metrics = MetricsReceiver()
    body = seal([Encoder().scrape(busy(1)), Encoder().scrape(busy(2))])
    as_json = json_format.MessageToJson(ExportMetricsServiceRequest(resource_metrics=[encode_scrape(busy(1))])).encode()

    def remote(content: bytes) -> list[Batch]:
        found: list[Batch] = []
        for page in read_write_request(unsnappy(content, LIMIT)):
            try:
                scrape = metrics.remote_write(page)
            except InputError:
                continue
            if scrape is not None:
                found.append(scrape)
        return found

    def change(content: bytes) -> list[Batch]:
        from collector.receivers.changes.registry import change_batch

        found = read_changes(content, {}, NOW)
        return [change_batch(found, content, "fuzz")] if found else []

    return {
        "metrics": Receiver((body, _foreign()), lambda c: list(metrics.decode_body(c, "fuzz").batches)),
        "metrics_json": Receiver(
            (as_json,), lambda c: list(metrics.decode(parse_json(c, ExportMetricsServiceRequest), "fuzz").batches)
        ),
        "metrics_gzip": Receiver(
            (gzip.compress(body), bytes(cramjam.zstd.compress(body))),
            lambda c: list(
                metrics.decode_body(decompress(c, "gzip" if c[:1] == b"\x1f" else "zstd", LIMIT), "f").batches
            ),
        ),
        "traces": Receiver((_spans(),), lambda c: list(decode_traces(parse_spans(c), "fuzz").batches)),
        "logs": Receiver((_logs(),), lambda c: decode_logs(parse_logs(c), "fuzz", NOW).batches),
        "remote_write": Receiver((_write(),), remote),
        "changes": Receiver(
            (
                b'{"kind":"release","summary":"v2","ts":"2026-05-01T12:00:00Z","model":"m"}',
                b'{"groupKey":"x","alerts":[{"status":"firing","labels":{"alertname":"a"},"startsAt":"2026-05-01T12:00:00Z"}]}',
                b'{"kind":"Event","type":"Warning","reason":"x","involvedObject":{"kind":"Pod","name":"p"},"count":3}',
            ),
            change,
        ),
    }


def run(inputs: int, folder: Path) -> dict[str, object]:
    """Return crashes per receiver, what was refused and accepted, and the growth of memory in MB."""
    path = folder / "fuzz.duckdb"
    for old in folder.glob("fuzz.duckdb*"):
        old.unlink()
    before = _peak_mb()
    found: dict[str, dict[str, object]] = {}
    with Store.open(path) as store:
        for name, receiver in receivers().items():
            found[name] = _fuzz(receiver, inputs, store, random.Random(f"{name} 7"))
    crashes = sum(int(str(one["crashes"])) for one in found.values())
    return {"crashes": crashes, "inputs": inputs * len(found), "memory_mb": _peak_mb() - before, "receivers": found}


def _fuzz(receiver: Receiver, inputs: int, store: Store, chance: random.Random) -> dict[str, object]:
    accepted = refused = crashes = 0
    example = None
    for number in range(inputs):
        content = damage(chance.choice(receiver.seeds), chance)
        try:
            batches = receiver.decode(content)
            accepted += 1
            if batches and number % COMMIT_EVERY == 0:
                store.commit(batches)
        except SloscopeError:
            refused += 1
        except Exception as error:
            if not isinstance(error, ValueError | TypeError | LookupError | ArithmeticError) or not batches_reached(
                error
            ):
                crashes += 1
                example = example or f"{type(error).__name__}: {error}"[:200]
            else:
                refused += 1  # group commit answers these as the sender's fault
    return {"accepted": accepted, "refused": refused, "crashes": crashes, "example": example}


def batches_reached(error: BaseException) -> bool:
    """Return whether an error came out of the store's commit: there the writer turns it into an answer."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "commit":
            return True
        trace = trace.tb_next
    return False


def damage(body: bytes, chance: random.Random) -> bytes:
    """Return the body with a few bytes changed, cut, doubled, inserted or moved."""
    content = bytearray(body)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        place = chance.randrange(len(content) + 1)
        kind = chance.randrange(6)
        if kind == 0 and place < len(content):
            content[place] ^= 1 << chance.randrange(8)
        elif kind == 1 and place < len(content):
            content[place] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        elif kind == 2:
            del content[place : place + chance.choice((1, 2, 8, 64))]
        elif kind == 3:
            content[place:place] = chance.randbytes(chance.choice((1, 2, 8)))
        elif kind == 4:
            piece = content[place : place + chance.choice((4, 32, 256))]
            other = chance.randrange(len(content) + 1)
            content[other:other] = piece
        else:
            del content[place:]
        if not content:
            return bytes(content)
    return bytes(content)


def _foreign() -> bytes:
    message = ResourceMetrics()
    scope = message.scope_metrics.add()
    gauge = scope.metrics.add(name="vllm:num_requests_running").gauge.data_points.add(time_unix_nano=T0, as_double=2.0)
    gauge.attributes.add(key="model_name").value.string_value = "m"
    metric = scope.metrics.add(name="gen_ai.server.time_to_first_token")
    metric.histogram.aggregation_temporality = AGGREGATION_TEMPORALITY_CUMULATIVE
    metric.histogram.data_points.add(
        time_unix_nano=T0, count=3, sum=1.5, explicit_bounds=[0.5, 1.0], bucket_counts=[1, 2, 0]
    )
    return ExportMetricsServiceRequest(resource_metrics=[message]).SerializeToString()


def _spans() -> bytes:
    message = ExportTraceServiceRequest()
    span = (
        message.resource_spans.add()
        .scope_spans.add()
        .spans.add(
            name="llm_request",
            trace_id=bytes(range(16)),
            span_id=bytes(range(8)),
            start_time_unix_nano=T0,
            end_time_unix_nano=T0 + 1_000_000_000,
        )
    )
    span.attributes.add(key="gen_ai.latency.e2e").value.double_value = 0.9
    span.attributes.add(key="gen_ai.usage.prompt_tokens").value.int_value = 12
    return message.SerializeToString()


def _logs() -> bytes:
    message = ExportLogsServiceRequest()
    record = message.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=T0)
    record.body.string_value = "release v2"
    record.attributes.add(key="sloscope.change.kind").value.string_value = "release"
    return message.SerializeToString()


def _write() -> bytes:
    message = _REQUEST()
    for name in ("vllm:num_requests_running", "vllm:prompt_tokens_total"):
        series = message.timeseries.add()
        for key, word in (("__name__", name), ("instance", "a:1"), ("model_name", "m")):
            series.labels.add(name=key, value=word)
        series.samples.add(value=3.0, timestamp=T0 // 1_000_000)
    return bytes(cramjam.snappy.compress_raw(message.SerializeToString()))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inputs", type=int)
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    print(json.dumps(run(asked.inputs, asked.folder)))

"""Unpacks the shipped recordings and replays their spans on today's clock; never changes a duration."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.importer.recordings import RecordedPage, recorded_pages
from signals.errors import InputError

#: Attributes that name a request; a second round of the replay must give them other values.
ID_ATTRIBUTES = frozenset({"gen_ai.request.id", "gen_ai.response.id", "litellm.call_id"})
EXPORTER_SUFFIX = "-0"


@dataclass(frozen=True, slots=True)
class Member:
    """One recorded program: the instance name it gets, its recording, and its role in the demo's fleet."""

    instance: str
    recording: str
    spans: str
    engine: str
    pool: str | None = None
    #: (recorded model, shown model): both vLLMs were recorded with one model, the demo shows two.
    model: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Programs that were recorded at the same time and replay on one clock."""

    members: tuple[Member, ...]


#: What the demo replays: one vLLM alone, and a LiteLLM gateway with the vLLM behind it.
ENSEMBLES = (
    Ensemble((Member("vllm-a", "vllm-live", "vllm-live-otlp", "vllm", "direct", ("tiny-llama", "tiny-llama-direct")),)),
    Ensemble(
        (
            Member("vllm-b", "vllm-behind-litellm", "vllm-behind-litellm-otlp", "vllm", "gateway"),
            Member("litellm", "litellm-live", "litellm-otlp", "litellm"),
        )
    ),
)


def sample_folder() -> Path:
    """Return the folder of sample data: inside the installed package, or beside it in a source tree."""
    inside = Path(str(files("collector"))) / "sample_data"
    return inside if inside.is_dir() else Path(str(files("collector"))).parent / "sample_data"


def unpack(name: str, into: Path) -> Path:
    """Unpack one recording and return its folder."""
    archive = sample_folder() / "recordings" / f"{name}.tar.xz"
    if not archive.is_file():
        raise InputError(f"{archive}: the sample recording is missing; reinstall sloscope")
    with tarfile.open(archive) as packed:
        packed.extractall(into, filter="data")
    return into / name


@dataclass(frozen=True, slots=True)
class Body:
    """One recorded span body and when it was sent, in seconds since the recording began."""

    path: Path
    offset: float


def pages_of(folder: Path) -> list[RecordedPage]:
    """Return the recorded pages in order."""
    return recorded_pages(folder)


def bodies_of(folder: Path, begin: float) -> list[Body]:
    """Return the recorded span bodies in order, on the clock of the recording that began at `begin`."""
    found = []
    for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        path = folder / str(entry["file"])
        if path.is_file() and "-logs" not in path.name:
            found.append(Body(path, float(entry["t"]) - begin))
    return sorted(found, key=lambda body: body.offset)


def shifted(body: bytes, shift_ns: int, lap: int) -> bytes:
    """Return a span body moved by `shift_ns`; from the second lap on all ids differ, so that nothing is a repeat."""
    message = ExportTraceServiceRequest.FromString(body)
    for span in _spans(message):
        span.start_time_unix_nano = max(1, span.start_time_unix_nano + shift_ns)
        span.end_time_unix_nano = max(1, span.end_time_unix_nano + shift_ns)
        if lap:
            _rename(span, lap)
    return message.SerializeToString()


def _spans(message: ExportTraceServiceRequest) -> Iterator[Span]:
    for resource in message.resource_spans:
        for scope in resource.scope_spans:
            yield from scope.spans


def _rename(span: Span, lap: int) -> None:
    span.trace_id = _other(span.trace_id, lap)
    span.span_id = _other(span.span_id, lap)
    span.parent_span_id = _other(span.parent_span_id, lap)
    for attribute in span.attributes:
        if attribute.key in ID_ATTRIBUTES:
            text = attribute.value.string_value
            stem = text.removesuffix(EXPORTER_SUFFIX)
            attribute.value.string_value = f"{stem}.{lap}{text[len(stem) :]}"


def _other(identifier: bytes, lap: int) -> bytes:
    """Return another id of the same length; no id stays no id."""
    mask = lap.to_bytes(4, "big").rjust(len(identifier), b"\0")[-len(identifier) :] if identifier else b""
    return bytes(a ^ b for a, b in zip(identifier, mask, strict=True))

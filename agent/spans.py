"""Receives spans of engines and gateways over OTLP/HTTP, strips them, says whose they are, and spools them.

It never passes on message text, and by default nothing that names a person.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.encode import Batch, identity_attributes
from agent.httpserver import Request, Response
from agent.protobuf import key_values
from agent.spool import TRACES, Spool
from signals import wire
from signals.errors import PayloadError
from signals.privacy import keeps
from signals.records import Identity

if TYPE_CHECKING:  # protobuf's messages are loaded when the first span comes
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

TRACES_PATH = "/v1/traces"
#: Engines post metrics and logs to the same endpoint when told to; they are taken and thrown away.
IGNORED_PATHS = ("/v1/metrics", "/v1/logs")
SERVICE = ("service.instance.id", "service.name", "k8s.pod.name")
#: vLLM's start-up spans at whose end the model is loaded (vllm/v1/engine/core.py, vllm/v1/worker/gpu_worker.py).
LOADED = frozenset({"Overall Loading", "EngineCoreProc init", "Load model"})


@dataclass(frozen=True, slots=True)
class Sender:
    """A target as the sender of spans: the names it may go by, and what its spans are stamped with."""

    names: frozenset[str]
    engine: str | None
    gateway: bool
    attributes: dict[str, str]


@dataclass(slots=True)
class SpanReceiver:
    """Takes bodies; `senders` lists the targets as they are now, `count` is told (kind, number) of what came."""

    spool: Spool
    senders: Callable[[], Sequence[Sender]]
    count: Callable[[str, int], None]
    exempt: frozenset[str] = frozenset()
    alias: Callable[[str, str], None] = lambda _alias, _instance: None
    loaded: Callable[[str, float], None] = lambda _instance, _at: None

    def answer(self, request: Request) -> Response:
        """Take one export request."""
        place, _, path = request.path.rpartition("/v1/")
        path = f"/v1/{path}"
        if request.method != "POST":
            return Response(405, b"POST spans to /v1/traces")
        json_body = request.headers.get("content-type", "").startswith("application/json")
        empty = Response(
            200, b"{}" if json_body else b"", "application/json" if json_body else "application/x-protobuf"
        )
        if path in IGNORED_PATHS:
            self.count("ignored", 1)
            return empty
        if path != TRACES_PATH:
            return Response(404, b"spans go to /v1/traces or /INSTANCE/v1/traces")
        try:
            message = parse_json(request.body) if json_body else parse(request.body)
        except PayloadError:
            self.count("broken", 1)
            raise
        self.take(message, place.strip("/") or None)
        return empty

    def take(self, message: ExportTraceServiceRequest, instance: str | None = None) -> None:
        """Spool the spans of one request, each resource a batch of its own."""
        senders = self.senders()
        for part in message.resource_spans:
            spans = sum(len(scope.spans) for scope in part.scope_spans)
            if not spans:
                continue
            dropped = strip(part, self.exempt)
            sender = whose(_resource(part), instance, senders)
            stamp = sender.attributes if sender else {wire.INSTANCE: instance} if instance else {}
            if sender is not None:
                self._tell(part, sender)
            self.spool.put(TRACES, _Encode(part, stamp))
            self.count("spans", spans)
            if dropped:
                self.count("stripped", dropped)
            if sender is None:
                self.count("unattributed", spans)

    def _tell(self, part: ResourceSpans, sender: Sender) -> None:
        """Tell the sender's other name, and when its model was loaded."""
        name = sender.attributes[wire.INSTANCE]
        other = _resource(part).get("service.instance.id")
        if other and other != name and not sender.gateway:
            self.alias(other, name)
        for scope in part.scope_spans:
            for span in scope.spans:
                if span.name in LOADED:
                    self.loaded(name, span.end_time_unix_nano / 1e9)


@dataclass(frozen=True, slots=True)
class _Encode:
    """Writes a ResourceSpans with a stamp and an identity."""

    part: ResourceSpans
    stamp: dict[str, str]

    def __call__(self, identity: Identity) -> Batch:
        stamp = {**self.stamp, **identity_attributes(identity)}
        kept = [pair for pair in self.part.resource.attributes if pair.key not in stamp]
        del self.part.resource.attributes[:]
        self.part.resource.attributes.extend(kept)
        attributes = self.part.resource.SerializeToString() + key_values(1, stamp)
        self.part.ClearField("resource")
        return Batch(attributes, self.part.SerializeToString())


def whose(resource: dict[str, str], instance: str | None, senders: Sequence[Sender]) -> Sender | None:
    """Return who sent spans: named by the path, by the resource, by its service, else the only engine there is."""
    named = {name for name in (instance, resource.get(wire.INSTANCE)) if name}
    named = named or {resource[key] for key in SERVICE if resource.get(key)}
    for sender in senders:
        if sender.names & named:
            return sender
    if instance or resource.get(wire.INSTANCE):
        return None
    service = resource.get("service.name", "").lower()
    gateways = [sender for sender in senders if sender.gateway]
    if any(sender.engine and sender.engine in service for sender in gateways):
        return next(sender for sender in gateways if sender.engine and sender.engine in service)
    engines = [sender for sender in senders if not sender.gateway]
    if len(engines) == 1 and "gateway" not in service and "proxy" not in service:
        return engines[0]
    return None


def strip(part: ResourceSpans, exempt: frozenset[str]) -> int:
    """Remove what must not be kept, and everything that no reader needs; return the number of attributes removed."""
    dropped = _strip_pairs(part.resource.attributes, exempt)
    for scope in part.scope_spans:
        for span in scope.spans:
            dropped += _strip_pairs(span.attributes, exempt) + len(span.events)
            del span.events[:]
            span.status.message = ""
    return dropped


def _strip_pairs(pairs: object, exempt: frozenset[str]) -> int:
    kept = [pair for pair in pairs if keeps(pair.key, _text(pair.value), exempt)]  # type: ignore[attr-defined]  # a repeated field
    dropped = len(pairs) - len(kept)  # type: ignore[arg-type]  # a repeated field
    if dropped:
        copies = [type(pair).FromString(pair.SerializeToString()) for pair in kept]
        del pairs[:]  # type: ignore[attr-defined]  # a repeated field
        pairs.extend(copies)  # type: ignore[attr-defined]  # a repeated field
    return dropped


def _text(value: AnyValue) -> str | None:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return str(value.string_value)
    if kind in {"array_value", "kvlist_value", "bytes_value"}:
        return str(value)
    return None


def _resource(part: ResourceSpans) -> dict[str, str]:
    pairs: Iterable[KeyValue] = part.resource.attributes
    return {pair.key: pair.value.string_value for pair in pairs if pair.value.HasField("string_value")}


def parse(body: bytes) -> ExportTraceServiceRequest:
    """Return the message of a protobuf body."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest as Message

    message = Message()
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        raise PayloadError(f"body of {len(body)} bytes is no OTLP trace request: {error}") from error
    return message


def parse_json(body: bytes) -> ExportTraceServiceRequest:
    """Return the message of a JSON body: OTLP writes ids in hex where protobuf's JSON has base64."""
    from google.protobuf.json_format import ParseDict, ParseError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest as Message

    try:
        data = json.loads(body)
        if not isinstance(data, dict):
            raise ValueError("an object is expected")
        return ParseDict({key: _based(value) for key, value in data.items()}, Message(), ignore_unknown_fields=True)
    except (ValueError, ParseError, RecursionError) as error:
        raise PayloadError(f"body of {len(body)} bytes is no OTLP trace request in JSON: {error}") from error


def _based(node: object) -> object:
    if isinstance(node, dict):
        return {
            key: b64encode(bytes.fromhex(value)).decode()
            if key in {"traceId", "spanId", "parentSpanId"} and isinstance(value, str)
            else _based(value)
            for key, value in node.items()
        }
    if isinstance(node, list):
        return [_based(item) for item in node]
    return node

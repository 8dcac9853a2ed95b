"""Reads the resource of an agent's message: who sent it and what of; a repeated one is known by its bytes.

Only the sequence and the time of sending change from scrape to scrape; both are cut out before the look-up.
"""

from __future__ import annotations

import json
from collections import OrderedDict

from google.protobuf.message import DecodeError
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from collector.receivers.checks import MAX_NAME
from collector.receivers.decode import attributes_of, identity_of, target_of
from collector.store.batch import Source
from signals import wire
from signals.errors import InputError

#: Sources kept; the one unseen longest is forgotten.
MAX_SOURCES = 20_000


def _head(key: str) -> bytes:
    """Return how the KeyValue of a text attribute goes on behind its own length: its key, then a value."""
    name = key.encode()
    return b"\x0a" + bytes([len(name)]) + name + b"\x12"


_SEQUENCE = _head(wire.SEQUENCE)
_SENT_AT = _head(wire.SENT_AT)


class Sources:
    """The sources of recent messages by the constant bytes of their resource."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Source] = OrderedDict()

    def of(self, resource: bytes) -> tuple[Source, int] | None:
        """Return (source, sequence); None where the resource is not an agent's scrape in the agent's own form."""
        sequence = _text_at(resource, _SEQUENCE)
        if sequence is None or not sequence[2].isdigit() or len(sequence[2]) > 18:
            return None
        rest = resource[: sequence[0]] + resource[sequence[1] :]
        sent = _text_at(rest, _SENT_AT)
        if sent is not None:
            if not sent[2].isdigit():
                return None
            rest = rest[: sent[0]] + rest[sent[1] :]
        found = self._known.get(rest)
        if found is None:
            found = _read(resource)
            if found is None:
                return None
            self._known[rest] = found
            if len(self._known) > MAX_SOURCES:
                self._known.popitem(last=False)
        return found, int(sequence[2])


def sent_at(resource: bytes) -> int | None:
    """Return when an agent says that it sent a message, in nanoseconds of its own clock."""
    found = _text_at(resource, _SENT_AT)
    return int(found[2]) if found is not None and found[2].isdigit() and len(found[2]) <= 19 else None


def _text_at(resource: bytes, head: bytes) -> tuple[int, int, bytes] | None:
    """Return (begin, end, text) of the KeyValue with this head; None when it is not there or not in the short form."""
    place = resource.find(head)
    if place < 2 or resource[place - 2] != 0x0A or resource.find(head, place + 1) >= 0:
        return None
    end = place + resource[place - 1]
    value = place + len(head)
    if end > len(resource) or value + 3 > end or resource[value + 1] != 0x0A:
        return None
    text = resource[value + 3 : end]
    if resource[place - 1] >= 0x80 or resource[value] != len(text) + 2 or resource[value + 2] != len(text):
        return None
    return place - 2, end, text


def _read(resource: bytes) -> Source | None:
    message = Resource()
    try:
        message.ParseFromString(resource)
        have = attributes_of(message.attributes)
        if wire.SCRAPE_STATE not in have or len(have) != len(message.attributes):
            return None
        identity = identity_of(have)
        start = have.get(wire.PROCESS_START)
        groups = tuple((model, role) for model, role in json.loads(have.get(wire.LAST_GROUPS, "[]")))
        process_start = float(start) if start else None
    except (DecodeError, InputError, ValueError, TypeError):
        return None
    target = target_of(have)
    if not 0 < len(target.instance) <= MAX_NAME or not 0 < len(identity.agent) <= MAX_NAME or not identity.epoch:
        return None
    facts = {name.removeprefix(wire.FACT): value for name, value in have.items() if name.startswith(wire.FACT)}
    return Source(
        identity.agent,
        identity.epoch,
        target,
        have[wire.SCRAPE_STATE],
        facts,
        process_start,
        have.get(wire.SCRAPE_ERROR),
        groups,
    )

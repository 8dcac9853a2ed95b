"""Reads recorded OTLP trace bodies (`*.bin`, as an exporter sent them) into batches, as the receiver does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from collector.receivers.traces import decode_traces, parse_spans
from collector.store.batch import HalfBatch, TableBatch
from signals import wire
from signals.errors import PayloadError


def trace_bodies(place: Path) -> list[Path]:
    """Return the bodies to read: the file itself, or those of a folder that are not logs or metrics."""
    if place.is_file():
        return [place]
    return [body for body in sorted(place.glob("*.bin")) if "-logs" not in body.name and "-metrics" not in body.name]


def half_batches(
    place: Path, instance: str | None, model: str | None, faults: list[str]
) -> Iterator[HalfBatch | TableBatch]:
    """Yield half batches and phases of starts of each body; one that cannot be read is a fault and stops nothing."""
    for body in trace_bodies(place):
        try:
            message = parse_spans(body.read_bytes())
        except PayloadError as error:
            faults.append(f"{body}: {error.message}")
            continue
        for resource in message.resource_spans:
            for key, value in ((wire.INSTANCE, instance), (wire.MODEL, model)):
                if value is not None:
                    resource.resource.attributes.add(key=key).value.string_value = value
        decoded = decode_traces(message, place.name)
        if decoded.rejected:
            faults.append(f"{body}: {decoded.rejected} spans refused: {decoded.why}")
        yield from decoded.batches
        yield from decoded.starts

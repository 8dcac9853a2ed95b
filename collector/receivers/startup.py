"""Turns an engine's start-up spans into `startup_phase_seconds` samples: what a cold start is made of; no requests."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from collector.store.batch import TableBatch
from collector.store.rows import ARROW_TYPES, moment
from signals import wire
from signals.records import Identity
from signals.spans import Span
from signals.startup import SIGNAL, SPANS
from signals.views import VIEWS


def startup_batch(identity: Identity, spans: Sequence[Span]) -> TableBatch | None:
    """Return one row per start-up span, at its end; None when there is none."""
    found = [span for span in spans if span.name in SPANS]
    if not found:
        return None
    types = {column.name: ARROW_TYPES[column.type] for column in VIEWS["signal_samples"].columns}
    columns = {
        "ts": [moment(span.end_ns) for span in found],
        "instance": [_word(span, wire.INSTANCE, "service.instance.id") for span in found],
        "model": [_word(span, wire.MODEL) for span in found],
        "signal": [SIGNAL] * len(found),
        "attributes": [[("phase", span.name)] for span in found],
        "value": [(span.end_ns - span.start_ns) / 1e9 for span in found],
    }
    table = pa.table({name: pa.array(values, type=types[name]) for name, values in columns.items()})
    return TableBatch(Identity(f"startup:{identity.agent}", identity.epoch, identity.sequence), "signal_samples", table)


def _word(span: Span, *names: str) -> str | None:
    return next((str(span.resource[name]) for name in names if span.resource.get(name)), None)

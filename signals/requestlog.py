"""Reads one record of a request log into a request half, the same way wherever the log comes in; never keeps messages.

The agent follows files, the importer reads them whole, the collector takes them as OTLP logs: all three ask here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

from signals.dialects import registry
from signals.dialects.canonical_requests import TEXT
from signals.privacy import MAX_TEXT, is_private
from signals.spans import RequestHalf

#: Texts by which halves find each other: one that may not be kept stays as a digest.
IDS = frozenset({"key", "part", "match", "alias"})
#: Unix nanoseconds that 64 bits hold: the year 2262.
LAST_NS = 1 << 63
_TEXT = tuple(sorted(TEXT - {"side"}))
_texts = attrgetter(*_TEXT)


@dataclass(frozen=True, slots=True)
class LogReader:
    """What is known of a log beside its lines.

    engine: the dialect whose lines it has; None = any. instance, model: for lines that do not say. exempt: fields that
    are kept although they may name a person.
    """

    engine: str | None = None
    instance: str | None = None
    model: str | None = None
    exempt: frozenset[str] = frozenset()

    def half(self, record: object) -> RequestHalf | None:
        """Return the half of one parsed line, or None when it tells of no request that can be read."""
        if not isinstance(record, Mapping):
            return None
        line = registry.log_half if self.engine is None else registry.get(self.engine).line
        try:
            found = line(record)
        except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
            return None
        if found is None or not 0 < found.start_ns < LAST_NS:
            return None
        if found.end_ns is not None and not 0 < found.end_ns < LAST_NS:
            found = replace(found, end_ns=None)
        if found.side != "gateway" and (found.instance is None or found.model is None):
            found = replace(found, instance=found.instance or self.instance, model=found.model or self.model)
        return without_people(found, self.exempt)


def without_people(half: RequestHalf, exempt: frozenset[str] = frozenset()) -> RequestHalf:
    """Return a half without texts that may name a person, unless exempt, or are too long to be anything but content."""
    dropped: dict[str, str | None] = {}
    for name, value in zip(_TEXT, _texts(half), strict=True):
        if value is not None and is_private(value) and (name not in exempt or len(value) > MAX_TEXT):
            dropped[name] = _digest(value) if name in IDS else None
    return replace(half, **dropped) if dropped else half  # type: ignore[arg-type]  # text fields only


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()

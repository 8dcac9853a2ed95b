"""Bounds how many tenants requests may name: further ones are stored as `other` and counted; drops no request."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from collector.store.batch import HalfBatch
from signals.spans import RequestHalf

OTHER = "other"


@dataclass(slots=True)
class TenantCap:
    """At most `limit` tenants, those that came first; safe from any thread."""

    limit: int
    _seen: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def remember(self, tenants: Iterable[str]) -> None:
        """Take tenants that are stored already as known."""
        with self._lock:
            self._seen.update(tenants)

    def fold(self, batch: HalfBatch) -> tuple[HalfBatch, int]:
        """Return the batch with tenants beyond the limit as `other`, and how many halves that changed."""
        if not any(half.tenant or half.tenant_id for half in batch.halves):
            return batch, 0
        with self._lock:
            halves = tuple(self._folded(half) for half in batch.halves)
        changed = sum(new is not old for new, old in zip(halves, batch.halves, strict=True))
        return (replace(batch, halves=halves), changed) if changed else (batch, 0)

    def _folded(self, half: RequestHalf) -> RequestHalf:
        name = half.tenant or half.tenant_id
        if name is None or name in self._seen:
            return half
        if len(self._seen) < self.limit:
            self._seen.add(name)
            return half
        return replace(half, tenant=OTHER, tenant_id=None)

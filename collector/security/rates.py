"""Limits how often each client may ask: one token bucket per client; never remembers more clients than its bound."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from signals.errors import RateLimitedError

#: Clients remembered at once; the one unseen longest is forgotten, which can only be to its advantage.
MAX_CLIENTS = 10_000


@dataclass(slots=True)
class RateLimit:
    """`per_second` requests of one client sustained, `burst` at once; 0 per second means no limit."""

    per_second: float
    burst: int
    _clients: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def take(self, client: str, now: float) -> None:
        """Count one request at monotonic second `now`; RateLimitedError says after how many seconds to return."""
        if self.per_second <= 0:
            return
        left, last = self._clients.get(client, (float(self.burst), now))
        left = min(float(self.burst), left + (now - last) * self.per_second)
        if left < 1.0:
            wait = max(1, round((1.0 - left) / self.per_second + 0.5))
            raise RateLimitedError(f"more than {self.per_second:g} requests a second from {client}", retry_after=wait)
        self._clients[client] = (left - 1.0, now)
        self._clients.move_to_end(client)
        if len(self._clients) > MAX_CLIENTS:
            self._clients.popitem(last=False)

"""Notices senders whose clock is off: what they say of when they sent against when it came; corrects nothing.

Times are stored as they were sent; the time of receipt stands in the ledger, so both clocks are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime

#: A batch may wait this long between sealing and receipt before its clock counts as off.
LIMIT_SECONDS = 30.0
#: A sender is told of once in this time.
REPEAT_SECONDS = 300.0
MAX_SENDERS = 5_000


@dataclass(slots=True)
class SkewWatch:
    """Remembers when each sender was last told of; lives in one thread."""

    _told: OrderedDict[str, float] = field(default_factory=OrderedDict)

    def fault(self, sender: str, sent_at_ns: int | None, now: datetime) -> str | None:
        """Return what to note of a sender's clock, None when it is right, unknown, or was told of lately.

        >>> from datetime import UTC
        >>> SkewWatch().fault("rack-7", 1_780_000_000_000_000_000, datetime.fromtimestamp(1_780_003_600, UTC))
        'the clock of rack-7 is 3600 s behind'
        """
        if sent_at_ns is None:
            return None
        received = now.timestamp()
        behind = received - sent_at_ns / 1e9
        if abs(behind) <= LIMIT_SECONDS or received - self._told.get(sender, 0.0) < REPEAT_SECONDS:
            return None
        self._told[sender] = received
        self._told.move_to_end(sender)
        if len(self._told) > MAX_SENDERS:
            self._told.popitem(last=False)
        return f"the clock of {sender} is {abs(behind):.0f} s {'behind' if behind > 0 else 'ahead'}"

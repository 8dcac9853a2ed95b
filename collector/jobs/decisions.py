"""Stores scaling decisions with their reasons, and grades them once their horizon has passed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from collector.api.inputs import configured_pools
from collector.api.services import Services
from collector.sqlguard.formats import plain

#: An unchanged decision is stored again after this, so that gaps in the record mean a collector that was away.
REPEAT = timedelta(minutes=5)


@dataclass(slots=True)
class DecisionKeeper:
    """Decides for every pool; keeps what differs from the last stored decision."""

    parts: Services
    _last: dict[str, tuple[datetime, tuple[object, ...]]] = field(default_factory=dict)

    def run(self) -> None:
        """Decide now and store what is new."""
        from collector.answers.scale import scale

        now = self.parts.clock()
        pins = {pool: pin for pool, pin in self.parts.pins.pins().items() if pin.until > now}
        answer = scale(
            self.parts.store.reader(),
            now,
            pools=configured_pools(self.parts),
            pins=pins,
            frozen=self.parts.pins.frozen,
        )
        found = answer.get("recommendations")
        rows = []
        for decision in found if isinstance(found, list) else []:
            key = str(decision.get("pool"))
            gist = tuple(decision.get(name) for name in ("action", "current", "proposed", "binding"))
            known = self._last.get(key)
            if known is not None and known[1] == gist and now - known[0] < REPEAT:
                continue
            self._last[key] = (now, gist)
            rows.append(_row(decision, now))
        self.parts.store.append("recommendations", rows)
        self.parts.store.run("collector.jobs", ["grade_decisions"], {"now": now})


def _row(decision: dict[str, object], now: datetime) -> dict[str, object]:
    row: dict[str, object] = {"ts": now, "document": json.dumps(plain(decision))}
    for name in ("pool", "model", "role", "region", "current", "proposed", "action", "binding", "confidence"):
        row[name] = decision.get(name)
    until = decision.get("valid_until")
    row["valid_until"] = datetime.fromisoformat(until.replace("Z", "+00:00")) if isinstance(until, str) else until
    return row

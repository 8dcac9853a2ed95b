"""Stores scaling decisions with their reasons, and grades them once their horizon has passed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from collector.api.inputs import configured_calendar, configured_pools, orders_of
from collector.api.services import Services
from collector.jobs.worker import fitted
from collector.sqlguard.formats import plain

if TYPE_CHECKING:
    from analytics.forecast import Event, Keeper
    from analytics.forecast.keeper import Learn
    from analytics.scaling.growths import Growths

#: An unchanged decision is stored again after this, so that gaps in the record mean a collector that was away.
REPEAT = timedelta(minutes=5)
#: How long an incident's cause goes on counting after it was last seen.
OPEN = timedelta(minutes=15)


@dataclass(slots=True)
class DecisionKeeper:
    """Decides for every pool; keeps what differs from the last stored decision."""

    parts: Services
    #: Remaining error budget and burn rate by model, as the newest look at the objectives found them.
    budgets: Callable[[], Mapping[str, tuple[float, float]]] = dict
    #: Fits forecasters, in another process where there is one.
    learn: Learn = fitted
    _last: dict[str, tuple[datetime, tuple[object, ...]]] = field(default_factory=dict)
    _curves: Keeper | None = None
    _growths: Growths | None = None
    _calendar: Sequence[Event] = ()

    def run(self) -> None:
        """Decide now and store what is new."""
        from analytics.forecast import Keeper, default
        from analytics.scaling.growths import Growths
        from collector.answers.scale import scale
        from collector.answers.scale_curve import STEP_SECONDS
        from collector.answers.scale_grades import grades
        from collector.answers.scale_states import Wishes

        now = self.parts.clock()
        orders = orders_of(self.parts, now)
        reader = self.parts.store.reader()
        causes: dict[str, list[str]] = {}
        open_ = reader.columns("scale_open_causes", since=now - OPEN)
        for model, cause in zip(open_["model"], open_["cause"], strict=True):
            causes.setdefault(str(model), []).append(str(cause))
        calendar = configured_calendar(self.parts)
        self._growths = self._growths or Growths()
        if self._curves is None or self._calendar != calendar:
            self._curves, self._calendar = (
                Keeper(lambda: default(STEP_SECONDS, events=calendar), learn=self.learn),
                calendar,
            )
        wishes = Wishes(
            pins=orders.pins,
            frozen=orders.frozen,
            budgets=self.budgets(),
            causes=causes,
            calendar=calendar,
            curves=self._curves,
            growths=self._growths,
        )
        answer = scale(reader, now, pools=configured_pools(self.parts), wishes=wishes)
        self.parts.decided.keep(now, orders, answer)
        found = answer.get("recommendations")
        rows = []
        for decision in found if isinstance(found, list) else []:
            key = str(decision.get("pool"))
            gist = tuple(decision.get(name) for name in ("action", "current", "proposed", "need", "binding"))
            known = self._last.get(key)
            if known is not None and known[1] == gist and now - known[0] < REPEAT:
                continue
            self._last[key] = (now, gist)
            rows.append(_row(decision, now))
        self.parts.store.append("recommendations", rows)
        for one in grades(reader, now):
            self.parts.store.run("collector.jobs", ["grade_decision"], one)


def _row(decision: dict[str, object], now: datetime) -> dict[str, object]:
    row: dict[str, object] = {"ts": now, "document": json.dumps(plain(decision))}
    for name in ("pool", "model", "role", "region", "current", "proposed", "action", "binding", "confidence"):
        row[name] = decision.get(name)
    until = decision.get("valid_until")
    row["valid_until"] = datetime.fromisoformat(until.replace("Z", "+00:00")) if isinstance(until, str) else until
    return row

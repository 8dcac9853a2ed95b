"""Counts every objective's good and bad events by minute and keeps them; late requests count where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from collector.answers.objective_scope import moment_of
from collector.answers.timeline import rows_of
from collector.api.inputs import configured_objectives
from collector.api.services import Services
from collector.store.reader import Reader

if TYPE_CHECKING:
    from analytics.slo import Objective

#: Hours that are counted again every minute, and once an hour: halves may come late.
EACH_MINUTE = timedelta(hours=1)
EACH_HOUR = timedelta(hours=24)
DAY = timedelta(days=1)
#: So long one run counts older days; the rest waits for the next run, because other jobs wait for this one.
OLDER_SECONDS = 5.0


@dataclass(slots=True)
class ObjectiveCounter:
    """Counts whole hours, the newest up to the last whole minute, and older days of which more came in."""

    parts: Services
    _hour: datetime | None = None
    _revisions: tuple[tuple[str, int], ...] | None = None
    #: Rows that were stored of each older day when it was last looked at, and the days that are to be counted.
    _stored: dict[datetime, int] = field(default_factory=dict)
    _due: set[datetime] = field(default_factory=set)

    def run(self) -> None:
        """Count what is new; at first, and after an edit, that is all that is stored."""
        from analytics.slo import default_objective

        began = self.parts.monotonic()
        now = self.parts.clock()
        reader = self.parts.store.reader()
        hour = now.replace(minute=0, second=0, microsecond=0)
        objectives = configured_objectives(self.parts) or (default_objective(),)
        revisions = tuple((one.name, one.revision) for one in objectives)
        if revisions != self._revisions:
            self._stored, self._hour = {}, None
        recent = hour - EACH_HOUR
        if hour != self._hour:
            self._look_for_grown(reader, recent)
        self._count(reader, objectives, recent if hour != self._hour else hour - EACH_MINUTE, now)
        self._hour, self._revisions = hour, revisions
        while self._due and self.parts.monotonic() - began < OLDER_SECONDS:
            day = max(self._due)
            if day < recent:
                self._count(reader, objectives, day, min(day + DAY, recent))
            self._due.remove(day)

    def _look_for_grown(self, reader: Reader, until: datetime) -> None:
        """Note the days of which more is stored than before: an import, or an agent that comes back, brings old ones.

        A request may end, and count, on the day after its arrival.
        """
        rows = reader.columns("slo_days", until=until)
        found = {}
        for value, stored in zip(rows["day"], rows["stored"].tolist(), strict=True):
            day = moment_of(value)
            if day is not None:
                found[day] = stored
                if stored > self._stored.get(day, 0):
                    self._due |= {day, day + DAY}
        self._stored = found

    def _count(self, reader: Reader, objectives: Sequence[Objective], begin: datetime, until: datetime) -> None:
        from collector.answers.objective_counts import objective_counts

        end = until.replace(second=0, microsecond=0)
        counted = objective_counts(reader, objectives, begin, end)
        rows = [{**row, "ts": _moment(row["ts"])} for row in rows_of(counted)]
        self.parts.store.run("collector.jobs", ["forget_counts"], {"begin": begin, "until": end})
        self.parts.store.append("objective_counts", rows)


def _moment(value: object) -> object:
    return datetime.fromisoformat(value.replace("Z", "+00:00")) if isinstance(value, str) else value

"""Counts every objective's good and bad events by minute and keeps them; late requests count where they belong."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from collector.answers.timeline import rows_of
from collector.api.inputs import configured_objectives
from collector.api.services import Services

#: Hours that are counted again every minute, and once an hour: halves may come late.
EACH_MINUTE = timedelta(hours=1)
EACH_HOUR = timedelta(hours=24)


@dataclass(slots=True)
class ObjectiveCounter:
    """Counts whole hours, the newest up to the last whole minute."""

    parts: Services
    _hour: datetime | None = None
    _revisions: tuple[tuple[str, int], ...] | None = None

    def run(self) -> None:
        """Count what is new; the first run, and the first after an edit, counts all that raw requests still hold."""
        from analytics.slo import default_objective
        from collector.answers.objective_counts import objective_counts

        now = self.parts.clock()
        reader = self.parts.store.reader()
        hour = now.replace(minute=0, second=0, microsecond=0)
        begin = hour - EACH_MINUTE
        objectives = configured_objectives(self.parts) or (default_objective(),)
        revisions = tuple((one.name, one.revision) for one in objectives)
        if revisions != self._revisions:
            begin = hour - timedelta(days=self.parts.config.keep_requests_days)
        elif hour != self._hour:
            begin = hour - EACH_HOUR
        end = now.replace(second=0, microsecond=0)
        counted = objective_counts(reader, objectives, begin, end)
        rows = [{**row, "ts": _moment(row["ts"])} for row in rows_of(counted)]
        self.parts.store.run("collector.jobs", ["forget_counts"], {"begin": begin, "until": end})
        self.parts.store.append("objective_counts", rows)
        self._hour, self._revisions = hour, revisions


def _moment(value: object) -> object:
    return datetime.fromisoformat(value.replace("Z", "+00:00")) if isinstance(value, str) else value

"""Says of each model when it was last heard of and how much of it is recorded; tells idle from blind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from analytics.slo import DIMENSIONS, Objective
from collector.answers.objective_scope import Scope, moment_of
from collector.store.reader import Reader

#: Without a good scrape for this long a model that has engines is blind.
BLIND_SECONDS = 300
#: Without an event for this long a model is idle (or, where nothing scrapes it, unseen).
IDLE_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class Sight:
    """What can be seen of one model: requests recorded against finished, and when it was last heard of."""

    recorded: int
    finished: float | None
    newest_request: datetime | None
    newest_good_scrape: datetime | None
    newest_scrape: datetime | None

    def is_blind(self, now: datetime) -> bool:
        """Say whether nothing proves that the model is idle rather than unseen."""
        heard = [moment for moment in (self.newest_request, self.newest_good_scrape) if moment is not None]
        patience = IDLE_SECONDS if self.newest_scrape is None else BLIND_SECONDS
        return not heard or (now - max(heard)).total_seconds() > patience


_UNSEEN = Sight(0, None, None, None, None)


def read_sights(reader: Reader, start: datetime, until: datetime) -> dict[str | None, Sight]:
    """Return what can be seen of every model in [start, until)."""
    columns = reader.columns("slo_sight", since=start, until=until)
    found = {}
    for place, model in enumerate(columns["model"].tolist()):
        finished = float(columns["finished"][place])
        found[model] = Sight(
            int(columns["recorded"][place]),
            None if np.isnan(finished) else finished,
            *(moment_of(columns[name][place]) for name in ("newest_request", "newest_good_scrape", "newest_scrape")),
        )
    return found


def sight_of(sights: Mapping[str | None, Sight], model: str | None, objective: Objective) -> Sight:
    """Return the sight of a row's model, or of all models together where the row is not of one model."""
    if "model" in objective.by:
        return sights.get(model, _UNSEEN)
    kept = objective.only.get("model")
    several = [sight for name, sight in sights.items() if kept is None or name in kept]
    finished = [sight.finished for sight in several if sight.finished is not None]

    def newest(name: str) -> datetime | None:
        return max((moment for sight in several if (moment := getattr(sight, name)) is not None), default=None)

    return Sight(
        sum(sight.recorded for sight in several),
        sum(finished) if finished else None,
        *(newest(name) for name in ("newest_request", "newest_good_scrape", "newest_scrape")),
    )


def quiet_scopes(objective: Objective, sights: Mapping[str | None, Sight]) -> list[Scope]:
    """Return the scopes that deserve a row without any event: models that are scraped or that the objective names."""
    rest = (None,) * (len(DIMENSIONS) - 1)
    named = objective.only.get("model")
    if "model" not in objective.by:
        return [(None, *rest)]
    models = list(named) if named is not None else [model for model in sights if model is not None]
    return [(model, *rest) for model in models]

"""Which models were sampled on which instances and when: names the model of requests that do not say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from collector.store.batch import Batch, ColumnBatch
from collector.store.columns import sightings
from signals.records import Scrape

#: A request that begins within a minute of a model's samples may be that model's.
SLACK_NS = 60_000_000_000


class Sampled:
    """The first and last sample of every (instance, model)."""

    def __init__(self, known: Iterable[tuple[str, str, int, int]]) -> None:
        self._spans: dict[tuple[str, str], tuple[int, int]] = {}
        self._models: dict[str, set[str]] = {}
        #: Whether an (instance, model) was sampled for the first time since this was last cleared.
        self.news = False
        for instance, model, first, last in known:
            self._see(instance, model, first, last)
        self.news = False

    def observe(self, batches: Sequence[Batch]) -> None:
        """Note which models were sampled by committed scrapes."""
        for batch in batches:
            if isinstance(batch, Scrape):
                for found in batch.increments:
                    if found.model is not None:
                        self._see(batch.target.instance, found.model, batch.time_ns, batch.time_ns)
            elif isinstance(batch, ColumnBatch):
                for instance, model, low, high in sightings(batch):
                    self._see(instance, model, low, high)

    def only_model(self, instance: str) -> str | None:
        """Return the model of an instance that serves one."""
        models = self._models.get(instance, ())
        return next(iter(models)) if len(models) == 1 else None

    def only_models_at(self, start_ns: npt.NDArray[np.int64], wanted: npt.NDArray[np.bool_]) -> pa.Array | None:
        """Return for each wanted time the model that alone was sampled then, in the rows of `start_ns`."""
        models = sorted({model for _, model in self._spans})
        place_of = {model: place for place, model in enumerate(models)}
        starts = start_ns[wanted]
        seen = np.zeros((len(models), len(starts)), bool)
        for (_, model), (first, last) in self._spans.items():
            seen[place_of[model]] |= (starts >= first - SLACK_NS) & (starts <= last + SLACK_NS)
        alone = seen.sum(axis=0) == 1
        if not alone.any():
            return None
        place = np.full(len(start_ns), -1)
        place[wanted] = np.where(alone, seen.argmax(axis=0), -1)
        return pa.array(models, pa.string()).take(pa.array(place, mask=place < 0))

    def _see(self, instance: str, model: str, low: int, high: int) -> None:
        first, last = self._spans.get((instance, model), (low, high))
        if (instance, model) not in self._spans:
            self.news = True
            self._models.setdefault(instance, set()).add(model)
        self._spans[(instance, model)] = (min(first, low), max(last, high))

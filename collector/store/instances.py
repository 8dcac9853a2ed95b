"""Follows the lives of instances as scrapes tell them: start, restart, what they serve and how much KV they have."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from signals.numbers import whole
from signals.records import GONE, Scrape


@dataclass(slots=True)
class Life:
    """One life of one instance: a new one begins when its process start time moves."""

    instance: str
    model: str | None
    started_at: datetime
    row: dict[str, object] = field(default_factory=dict)


#: Scraped start times jitter by clock steps; a later one than this is another process.
NEW_LIFE_SECONDS = 2.0


class Lives:
    """The newest life of every (instance, model); `changed` collects rows to write."""

    def __init__(self) -> None:
        self._lives: dict[tuple[str, str | None], Life] = {}

    def remember(self, instance: str, model: str | None, started_at: datetime) -> None:
        self._lives[(instance, model)] = Life(instance, model, started_at)

    def observe(self, scrape: Scrape) -> list[dict[str, object]]:
        """Return the `instances` rows that this scrape begins or ends, keyed by (instance, model, started_at)."""
        rows: list[dict[str, object]] = []
        time = datetime.fromtimestamp(scrape.time_ns // 1000 / 1e6, UTC)
        if scrape.state == GONE:
            gone = [key for key in self._lives if key[0] == scrape.target.instance]
            lives = [self._lives.pop(key) for key in gone]
            return [
                {"instance": life.instance, "model": life.model, "started_at": life.started_at, "stopped_at": time}
                for life in lives
            ]
        start = None if scrape.process_start is None else datetime.fromtimestamp(scrape.process_start, UTC)
        for found in scrape.increments:
            key = (scrape.target.instance, found.model)
            known = self._lives.get(key)
            begun = start or time
            if known is not None and (
                start is None or abs((start - known.started_at).total_seconds()) < NEW_LIFE_SECONDS
            ):
                continue
            row = self._row(scrape, found.model, found.role, begun)
            if known is not None:
                rows.append(
                    {
                        "instance": known.instance,
                        "model": known.model,
                        "started_at": known.started_at,
                        "stopped_at": begun,
                    }
                )
            self._lives[key] = Life(scrape.target.instance, found.model, begun, row)
            rows.append(row)
        return rows

    def _row(self, scrape: Scrape, model: str | None, role: str | None, begun: datetime) -> dict[str, object]:
        target, facts = scrape.target, dict(scrape.facts)
        row: dict[str, object] = {
            "instance": target.instance,
            "pool": target.pool,
            "model": model,
            "model_version": target.model_version,
            "engine": target.engine,
            "engine_version": target.engine_version,
            "host": target.host,
            "region": target.region,
            "role": role,
            "gpu_count": len(target.gpus) or None,
            "started_at": begun,
        }
        for name in ("kv_capacity_tokens", "block_tokens", "max_running"):
            count = whole(facts, name)
            facts.pop(name, None)
            if count is not None:
                row[name] = count
        if facts:
            row["config"] = list(facts.items())
        return row


def one_row_each(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return one row for each life, with what all of its rows know; an earlier row's word stands.

    Rows of one life begin within NEW_LIFE_SECONDS of the first of them, as in the statements that store them.
    """
    lives: dict[tuple[object, object], list[dict[str, object]]] = {}
    for row in rows:
        known = lives.setdefault((row.get("instance"), row.get("model")), [])
        life = next((life for life in known if _same_begin(life.get("started_at"), row.get("started_at"))), None)
        if life is None:
            known.append(life := {})
        life.update({name: value for name, value in row.items() if life.get(name) is None})
    return [life for known in lives.values() for life in known]


def _same_begin(one: object, other: object) -> bool:
    if isinstance(one, datetime) and isinstance(other, datetime):
        return abs((one - other).total_seconds()) < NEW_LIFE_SECONDS
    return one == other

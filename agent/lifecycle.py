"""Tells the lives of instances: started, ready, first token, draining, stopped; one `instances` row at each step.

Sources, best first: the engine's own process start, the process table, start-up spans, pod conditions, and the first
good page. The first good page says that the model is loaded: engines serve their page only then, or at port opening.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from signals.numbers import whole
from signals.readings import Increments
from signals.records import FAILED, GONE, Scrape

#: Start times of the same process read twice differ by less: the kernel counts in ticks.
SAME_LIFE_SECONDS = 2.0


@dataclass(slots=True)
class Life:
    """One life of one instance and model."""

    started_at: float
    ready_at: float | None = None
    first_token_at: float | None = None
    draining_at: float | None = None
    stopped_at: float | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What others know of an instance: its process, its pod, its GPUs."""

    started_at: float | None = None
    pod_ready_at: float | None = None
    draining_at: float | None = None
    gpu_type: str | None = None
    gpu_count: int | None = None
    command: tuple[str, ...] = ()


@dataclass(slots=True)
class Lifecycle:
    """The lives of the instances of this agent."""

    _lives: dict[tuple[str, str | None], Life] = field(default_factory=dict)
    _failed: set[str] = field(default_factory=set)
    _loaded: dict[str, float] = field(default_factory=dict)

    def loaded(self, instance: str, at: float) -> None:
        """Take the end of an engine's start-up spans: the model is loaded."""
        self._loaded[instance] = max(at, self._loaded.get(instance, at))

    def observe(self, scrape: Scrape, known: Known) -> list[dict[str, object]]:
        """Return the rows that one scrape is a reason for."""
        name, now = scrape.target.instance, scrape.time_ns // 1000 / 1e6  # as the store keeps times
        if scrape.state == FAILED:
            self._failed.add(name)
            return []
        if scrape.state == GONE:
            return [
                self._row(scrape, model, life, known)
                for (instance, model), life in self._lives.items()
                if instance == name and self._stop(life, now)
            ]
        rows = []
        for found in scrape.increments:
            row = self._follow(scrape, found, known, now)
            if row is not None:
                rows.append(row)
        self._failed.discard(name)
        return rows

    def _follow(self, scrape: Scrape, found: Increments, known: Known, now: float) -> dict[str, object] | None:
        key = (scrape.target.instance, found.model)
        began = scrape.process_start or known.started_at
        life = self._lives.get(key)
        new = life is None or (began is not None and abs(began - life.started_at) > SAME_LIFE_SECONDS)
        if new or life is None:
            seen_start = life is not None or scrape.target.instance in self._failed
            life = self._lives[key] = Life(began if began is not None else now)
            life.ready_at = self._ready(scrape.target.instance, life, known, now if seen_start else None)
        told = new
        if life.first_token_at is None and found.counters.get(("first_tokens", ()), 0.0) > 0:
            life.first_token_at = now
            told = True
        if known.draining_at != life.draining_at:
            life.draining_at = known.draining_at
            told = True
        return self._row(scrape, found.model, life, known) if told else None

    def _ready(self, instance: str, life: Life, known: Known, first_page: float | None) -> float | None:
        """Return when the instance could serve; None when it was running before anybody looked."""
        loaded = self._loaded.get(instance)
        candidates = [at for at in (loaded, known.pod_ready_at) if at is not None and at >= life.started_at]
        return max(candidates) if candidates else first_page

    def _stop(self, life: Life, now: float) -> bool:
        if life.stopped_at is not None:
            return False
        life.stopped_at = now
        return True

    def _row(self, scrape: Scrape, model: str | None, life: Life, known: Known) -> dict[str, object]:
        target = scrape.target
        row: dict[str, object | None] = {
            "instance": target.instance,
            "pool": target.pool,
            "model": model,
            "model_version": target.model_version,
            "engine": target.engine,
            "engine_version": target.engine_version,
            "host": target.host,
            "region": target.region,
            "role": target.role,
            "gpu_type": known.gpu_type,
            "gpu_count": known.gpu_count or len(target.gpus) or None,
            "max_running": seats(known.command),
            "started_at": life.started_at,
            "ready_at": life.ready_at,
            "draining_at": life.draining_at,
            "stopped_at": life.stopped_at,
        }
        for name in ("kv_capacity_tokens", "block_tokens"):
            row[name] = whole(scrape.facts, name)
        return {name: value for name, value in row.items() if value is not None}


def seats(command: tuple[str, ...]) -> int | None:
    """Return the batch limit that an engine's command line sets (vLLM, SGLang, llama.cpp, TensorRT-LLM).

    >>> seats(("vllm", "serve", "m", "--max-num-seqs", "16"))
    16
    """
    for place, word in enumerate(command):
        name, equals, value = word.partition("=")
        if name in {"--max-num-seqs", "--max-running-requests", "--parallel", "-np", "--max_batch_size"}:
            text = value if equals else command[place + 1] if place + 1 < len(command) else ""
            return int(text) if text.isdigit() else None
    return None

"""What travels from an agent to the store: scrapes, GPU and host rows, instance lives; plain frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from signals.readings import Increments

OK, FAILED, FROZEN, GONE = "ok", "failed", "frozen", "gone"


@dataclass(frozen=True, slots=True)
class Identity:
    """Names one batch for ever: who sent it, in which life of the sender, and its number in that life."""

    agent: str
    epoch: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Target:
    """What is scraped, as configured or discovered; None = not known, never guessed."""

    instance: str
    engine: str | None = None
    model: str | None = None
    role: str | None = None
    engine_version: str | None = None
    model_version: str | None = None
    pool: str | None = None
    region: str | None = None
    host: str | None = None
    gpus: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scrape:
    """One scrape of one target: one ResourceMetrics on the wire, one row per (model, role) in the store.

    `time_ns` is when the page was asked for, `start_ns` the previous good scrape. A failed scrape has no `increments`
    and becomes one row of NULLs per (model, role) last seen on the target (`last_groups`).
    """

    identity: Identity
    target: Target
    time_ns: int
    start_ns: int | None
    state: str
    increments: tuple[Increments, ...] = ()
    last_groups: tuple[tuple[str | None, str | None], ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    process_start: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class HostRows:
    """GPU and host measurements of one 5-s interval: view name → rows of column → value."""

    identity: Identity
    host: str
    time_ns: int
    start_ns: int | None
    rows: Mapping[str, tuple[Mapping[str, object], ...]]

"""The form of every discovery: asked again and again, it returns all targets that it knows now; it starts no scrape.

To add one: copy the nearest sibling and add a line to the registry. A discovery that cannot find out raises a
SloscopeError, and the targets that it named before stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from agent.config import TargetConfig

#: Settings that a label or annotation may carry: those that are plain text.
TEXT_SETTINGS = ("engine", "instance", "model", "model_version", "role", "pool", "region", "host")


@dataclass(frozen=True, slots=True)
class PodLife:
    """What an orchestrator says of an instance's life, in Unix seconds."""

    started_at: float | None = None
    ready_at: float | None = None
    draining_at: float | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One target, and its life where somebody tells."""

    config: TargetConfig
    life: PodLife | None = None


class Discovery(Protocol):
    """Finds targets in one place."""

    @property
    def refresh_seconds(self) -> float:
        """Return the time between looks."""

    def find(self) -> Sequence[Found]:
        """Return all targets there are now."""


def filled(template: TargetConfig, url: str, texts: dict[str, str]) -> TargetConfig:
    """Return a template with a URL and the settings that were found; empty texts change nothing."""

    def text(name: str, otherwise: str | None) -> str | None:
        return texts.get(name) or otherwise

    return replace(
        template,
        url=url,
        engine=text("engine", template.engine),
        instance=text("instance", template.instance),
        model=text("model", template.model),
        model_version=text("model_version", template.model_version),
        role=text("role", template.role),
        pool=text("pool", template.pool),
        region=text("region", template.region),
        host=text("host", template.host),
    )

"""Finds what is wrong with settings although each is of the right type; asks nobody."""

from __future__ import annotations

from agent.config import Config
from agent.scrape import instance_of
from signals.dialects import registry
from signals.errors import ConfigError, SloscopeError


def check(config: Config) -> None:
    """Raise ConfigError for targets that can be seen to be wrong without asking anybody."""
    faults = []
    names: set[str] = set()
    for number, target in enumerate(config.targets):
        here = f"targets[{number}]"
        if not target.url.startswith(("http://", "https://")):
            faults.append(f"{here}.url: expected http://... or https://..., found {target.url!r}")
        if target.engine is not None and target.engine not in registry.DIALECTS:
            try:
                registry.get(target.engine)
            except SloscopeError as error:
                faults.append(f"{here}.engine: {error.message}")
        if target.interval_seconds <= 0:
            faults.append(f"{here}.interval: expected more than zero")
        if instance_of(target) in names:
            faults.append(f"{here}.instance: {instance_of(target)!r} is taken by another target")
        names.add(instance_of(target))
    url = config.collector.url
    if url is not None and not url.startswith(("http://", "https://")):
        faults.append(f"collector.url: expected http://... or https://..., found {url!r}")
    if faults:
        raise ConfigError(f"{len(faults)} fault(s)", faults)

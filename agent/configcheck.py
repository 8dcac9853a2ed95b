"""Finds what is wrong with settings although each is of the right type; asks nobody."""

from __future__ import annotations

from agent.config import Config
from agent.scrape import instance_of
from signals.dialects import registry
from signals.errors import ConfigError, SloscopeError, nearest

#: Engines that write request logs.
WRITERS = tuple(name for name, dialect in registry.DIALECTS.items() if dialect.logs)


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
    faults += _request_logs(config)
    url = config.collector.url
    if url is not None and not url.startswith(("http://", "https://")):
        faults.append(f"collector.url: expected http://... or https://..., found {url!r}")
    if faults:
        raise ConfigError(f"{len(faults)} fault(s)", faults)


def _request_logs(config: Config) -> list[str]:
    faults = []
    paths: set[str] = set()
    for number, source in enumerate(config.requests):
        here = f"requests[{number}]"
        if not source.path:
            faults.append(f"{here}.path: expected a file or a pattern")
        elif source.path in paths:
            faults.append(f"{here}.path: {source.path!r} is followed by another entry")
        paths.add(source.path)
        if source.engine is not None and source.engine not in WRITERS:
            faults.append(
                f"{here}.engine: {source.engine!r} is none of {', '.join(WRITERS)}{nearest(source.engine, WRITERS)}"
            )
        if source.interval_seconds <= 0:
            faults.append(f"{here}.interval: expected more than zero")
    return faults

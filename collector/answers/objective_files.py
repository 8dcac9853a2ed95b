"""Loads objectives from a directory of OpenSLO YAML files, or names every fault in them; counts nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from analytics.slo import Objective
from analytics.slo.openslo import Catalogue, Fault, read_documents
from analytics.slo.silence import Silence
from signals.errors import ConfigError, InputError

#: No hand-written objective file is larger; a wrong path to a data file should not be parsed for minutes.
MAX_BYTES = 2_000_000


def load_objectives(place: Path) -> tuple[Objective, ...]:
    """Return the objectives of a file, or of every *.yaml and *.yml below a directory; ConfigError lists all faults."""
    catalogue = read_objectives(place)
    if catalogue.faults:
        count = len(catalogue.faults)
        raise ConfigError(
            f"{count} fault{'s' if count > 1 else ''} in the objectives of {place}", map(str, catalogue.faults)
        )
    return catalogue.objectives


def load_silences(place: Path) -> tuple[Silence, ...]:
    """Return the silences that stand beside objectives; faults are `load_objectives`' business."""
    return read_objectives(place).silences


def read_objectives(place: Path) -> Catalogue:
    """Return objectives and faults alike; file names in faults are relative to a directory that was given."""
    if not place.exists():
        raise InputError(f"no file or directory {str(place)!r}", path=str(place))
    root = place if place.is_dir() else place.parent
    paths = sorted({*place.rglob("*.yaml"), *place.rglob("*.yml")}) if place.is_dir() else [place]
    texts: list[tuple[str, bytes]] = []
    unread: list[Fault] = []
    for path in paths:
        name = path.relative_to(root).as_posix()
        try:
            size = path.stat().st_size
            if size > MAX_BYTES:
                unread.append(Fault(name, 1, "document", f"is {size} bytes; an objective file has at most {MAX_BYTES}"))
            else:
                texts.append((name, path.read_bytes()))
        except OSError as error:
            unread.append(Fault(name, 1, "document", f"cannot be read: {error.strerror}"))
    catalogue = read_documents(texts)
    return replace(catalogue, faults=tuple(sorted((*unread, *catalogue.faults))))

"""Recognises what a path holds: recordings, spans, tables in the import format, request logs; never guesses content."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from collector.importer.recordings import is_recording
from signals.errors import InputError
from signals.views import VIEWS

PAGES, SPANS, TABLE, ARRIVALS, LOG, PROMETHEUS = "pages", "spans", "table", "arrivals", "log", "prometheus"
#: What must be stored before what: spans take the model of the engine that was sampled then.
ORDER = (PAGES, TABLE, ARRIVALS, PROMETHEUS, LOG, SPANS)
TABLE_SUFFIXES = (".parquet", ".csv")
LOG_SUFFIXES = (".jsonl", ".jsonl.gz", ".log")


@dataclass(frozen=True, slots=True)
class Source:
    """One thing to import: its kind, its place, and the instance that it speaks of where the name tells."""

    kind: str
    path: Path
    instance: str | None = None
    view: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What was recognised, and what was not and why."""

    sources: tuple[Source, ...]
    skipped: tuple[str, ...]


def recognise(paths: tuple[str, ...]) -> Found:
    """Return the sources behind the paths in the order they must be stored; InputError for a path that is not there."""
    sources: list[Source] = []
    skipped: list[str] = []
    for text in paths:
        if text.startswith("prometheus://"):
            sources.append(Source(PROMETHEUS, Path(), url=text))
            continue
        path = Path(text)
        if not path.exists():
            raise InputError(f"{text}: no such file or folder")
        found, missed = _of_folder(path) if path.is_dir() else _of_file(path)
        sources.extend(found)
        skipped.extend(missed)
    sources.sort(key=lambda source: ORDER.index(source.kind))
    return Found(tuple(sources), tuple(skipped))


def _of_folder(folder: Path) -> tuple[list[Source], list[str]]:
    if is_recording(folder):
        return [Source(PAGES, folder, folder.resolve().name)], []
    bodies = sorted(folder.glob("*.bin"))
    if bodies:
        name = folder.resolve().name
        instance = name.removesuffix("-otlp")
        paired = instance if instance != name and is_recording(folder.resolve().parent / instance) else None
        return [Source(SPANS, folder, paired)], []
    sources: list[Source] = []
    skipped: list[str] = []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        found, missed = _of_folder(entry) if entry.is_dir() else _of_file(entry)
        sources.extend(found)
        skipped.extend(missed)
    return sources, skipped


def _of_file(path: Path) -> tuple[list[Source], list[str]]:
    name = path.name
    if name.endswith(TABLE_SUFFIXES):
        stem = path.stem
        if stem in VIEWS:
            if not VIEWS[stem].importable:
                return [], [f"{path}: {stem} is derived and cannot be imported"]
            return [Source(TABLE, path, view=stem)], []
        return [Source(ARRIVALS, path)], []
    if name.endswith(LOG_SUFFIXES):
        return [Source(LOG, path)], []
    if name.endswith(".bin"):
        return [Source(SPANS, path)], []
    return [], [f"{path}: not recognised (expected a recording, *.bin, *.parquet, *.csv or a request log *.jsonl)"]

"""Stores filled from the shipped recordings, built once for a test session."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from collector.demo.recording import unpack
from collector.importer.run import Options, Outcome, import_sources
from collector.importer.sources import recognise
from collector.store.store import Store


def filled_store(folder: Path, *names: str) -> tuple[Path, Outcome]:
    """Import shipped recordings (pages and spans) into a new store file; return it with what the import said."""
    places = [str(unpack(name, folder)) for name in names]
    database = folder / "store.duckdb"
    with Store.open(database) as store:
        outcome = import_sources(store, list(recognise(tuple(places)).sources), Options(), lambda _: None)
    return database, outcome


@cache
def session_store() -> Path:
    """Return one store of the shipped vLLM recording, the same for all tests of a session: they only read it."""
    folder = tempfile.mkdtemp(prefix="sloscope-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return filled_store(Path(folder), "vllm-live", "vllm-live-otlp")[0]


def copy_of(database: Path, folder: Path) -> Path:
    """Return a copy that a test may change."""
    target = folder / "copy.duckdb"
    shutil.copy(database, target)
    return target

"""Counts the broken documents whose fault is named exactly: file, line, key, and what the message must say."""

from __future__ import annotations

from pathlib import Path

from analytics.slo.openslo import read_documents

FOLDER = Path(__file__).parent / "broken"


def named_exactly() -> tuple[int, int]:
    """Return (named exactly, documents). Each document's first line says what is expected of it."""
    paths = sorted(FOLDER.glob("*.yaml"))
    return sum(_is_named(path) for path in paths), len(paths)


def _is_named(path: Path) -> bool:
    text = path.read_text()
    _, _, line, key, says = text.splitlines()[0].split(" ", 4)
    faults = read_documents([(path.name, text)]).faults
    return len(faults) == 1 and (faults[0].line, faults[0].key) == (int(line), key) and says in faults[0].message

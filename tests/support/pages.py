"""Recorded pages of every dialect that travel with the tests; tests/data/pages/ORIGINS.md says what each is."""

from __future__ import annotations

import gzip
from pathlib import Path

PAGES = Path(__file__).parents[1] / "data" / "pages"
SHARED = Path(__file__).parents[2].parent / "shared" / "payloads"


def read(name: str) -> str:
    """Return the text of one recorded page, `vllm-0172` for `vllm-0172.txt.gz`."""
    return gzip.decompress((PAGES / f"{name}.txt.gz").read_bytes()).decode()


def names(engine: str | None = None) -> list[str]:
    """Return the recorded pages of an engine, in order, or of all."""
    found = sorted(path.name.removesuffix(".txt.gz") for path in PAGES.glob("*.txt.gz"))
    return [name for name in found if engine is None or name.partition("-")[0] == engine]

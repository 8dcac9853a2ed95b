"""Adds up what the base install puts on a disk: sloscope's own packages and everything they depend on."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OWN = ("signals", "agent", "analytics", "collector", "dashboard", "sample_data")


def base_install_mb() -> tuple[float, dict[str, float]]:
    """Return megabytes (10^6 bytes) without compiled caches, and those of each package."""
    sizes: dict[str, float] = {"sloscope": sum(_tree(ROOT / name) for name in OWN) / 1e6}
    todo = _requirements("sloscope")
    while todo:
        name = todo.pop()
        if name in sizes:
            continue
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            continue
        sizes[name] = sum(_size(Path(str(file.locate()))) for file in files if file.suffix != ".pyc") / 1e6
        todo += _requirements(name)
    return sum(sizes.values()), sizes


def _requirements(name: str) -> list[str]:
    """Return the requirements that no extra asks for."""
    try:
        wanted = distribution(name).requires or []
    except PackageNotFoundError:
        return []
    return [re.split(r"[ ;<>=!~\[(]", line, maxsplit=1)[0].lower() for line in wanted if "extra ==" not in line]


def _tree(folder: Path) -> int:
    return sum(_size(path) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0

"""Loads SQL from `.sql` files: one statement a file, the first line a sentence; never builds SQL from strings."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from signals.errors import UnknownNameError


@cache
def sql(package: str, name: str) -> str:
    """Return the statement in `package`/`name`.sql, e.g. sql("collector.answers", "status_counts")."""
    folder = files(package)
    path = folder.joinpath("sql", f"{name}.sql")
    if not path.is_file():
        known = [entry.name.removesuffix(".sql") for entry in folder.joinpath("sql").iterdir()]
        raise UnknownNameError("SQL file", name, known)
    return path.read_text(encoding="utf-8")

"""Packs files and folders for an upload, so that the server sees what it would see on its own disk; sends nothing."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import IO

from signals.errors import ConfigError, InputError


def pack(paths: tuple[str, ...], into: IO[bytes]) -> None:
    """Write a gzipped tar of the paths. Two of one name get a folder each; the rest stay side by side, since a folder
    of spans is paired with the recording beside it."""
    taken: set[str] = set()
    with tarfile.open(fileobj=into, mode="w:gz", compresslevel=3, dereference=True) as archive:
        for number, text in enumerate(paths):
            if text.startswith("prometheus://"):
                raise ConfigError(
                    f"{text}: a server fetches nothing; use --db FILE with a file that no server has open"
                )
            path = Path(text).resolve()
            if not path.exists():
                raise InputError(f"{text}: no such file or folder")
            name = path.name if path.name not in taken else f"{number}/{path.name}"
            taken.add(path.name)
            archive.add(path, arcname=name)

"""Builds the stub driver and lets tests say what its GPUs are and how they fail."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).with_name("nvmlstub.c")
LIBRARY = "libnvidia-ml.so.1"


def compiler() -> str | None:
    """Return the C compiler, or None where there is none."""
    return shutil.which("cc") or shutil.which("gcc")


def build(folder: Path, gpm: bool = True) -> Path:
    """Compile the stub into a folder that LD_LIBRARY_PATH can name; return the library."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / LIBRARY
    cc = compiler()
    assert cc is not None
    flags = [] if gpm else ["-DNO_GPM"]
    command = [
        cc,
        "-shared",
        "-fPIC",
        "-O1",
        "-pthread",
        f"-Wl,-soname,{LIBRARY}",
        *flags,
        "-o",
        str(library),
        str(SOURCE),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return library


class StubState:
    """The file that the stub reads; every change replaces it whole, so that it is never read half."""

    def __init__(self, path: Path, **values: object) -> None:
        self.path = path
        self.values: dict[str, object] = dict(values)
        self.write()

    def set(self, values: Mapping[str, object]) -> None:
        """Change some keys; None removes one."""
        for key, value in values.items():
            if value is None:
                self.values.pop(key, None)
            else:
                self.values[key] = value
        self.write()

    def write(self) -> None:
        text = "".join(f"{key} {value}\n" for key, value in self.values.items())
        partial = self.path.with_suffix(".partial")
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, self.path)  # noqa: PTH105 # atomic on purpose

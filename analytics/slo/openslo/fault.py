"""One thing that is wrong in an objective file, with its place; raises nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """`str()` gives FILE:LINE:KEY: message, the form that editors jump to; `key` is dotted from the document's root."""

    file: str
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.key}: {self.message}"

"""What a column and a view of the public schema are, as data; the views themselves stand in signals.views."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Column", "View", "columns"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `required` means never NULL in the store; `needed` means that an import must bring it."""

    name: str
    type: str
    help: str = ""
    required: bool = False
    needed: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """One public view; `importable` views are also the import format (file stem = view name)."""

    name: str
    help: str
    columns: tuple[Column, ...]
    importable: bool = True

    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def columns(text: str) -> tuple[Column, ...]:
    """Read `name TYPE flags : help` lines; `!` = never NULL, `*` = an import must bring it."""
    found = []
    for line in text.strip().splitlines():
        head, _, note = line.partition(":")
        words = head.split()
        flags = words[2] if len(words) > 2 else ""
        found.append(Column(words[0], words[1], note.strip(), "!" in flags, "*" in flags))
    return tuple(found)
